// SPDX-License-Identifier: BSL-1.0

// Package raw is what SWIG makes of the headers, and what that needs of Go: results, and functions of the caller's.
package raw

/*
#cgo pkg-config: extmem
#cgo CFLAGS: -O2 -Wno-unused -Wno-maybe-uninitialized
extern void emb_go_free(void *p);
extern void *emb_go_answer(void *f, unsigned long long n);
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Result is what a call has come to.
type Result struct {
	Status                      int
	Errno                       int
	Offset, Bytes, Record, Done uint64
	HasDone                     bool
	Op, Path, Text              string
	Thrown                      any // What a function of the caller's has returned, or a Panic.
	rest                        []byte
}

// Panic is what a function of the caller's has panicked with.
type Panic struct{ Value any }

// Number is the next result.
func (r *Result) Number() uint64 {
	n := binary.NativeEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

// Slice is the next result.
func (r *Result) Slice() []byte {
	n := r.Number()
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// take makes the result of what C returned, or nil: it succeeded without results.
func take(from uint64) *Result {
	if from == 0 {
		return nil
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&from))
	all := append([]byte(nil), unsafe.Slice((*byte)(p), *(*uint64)(p))...)
	C.emb_go_free(p)
	r := &Result{rest: all[8:]}
	if thrown := r.Number(); thrown != 0 {
		r.Thrown = forget(thrown)
	}
	r.Status = int(int64(r.Number()))
	if r.Status < 0 {
		r.Errno = int(r.Number())
		r.Offset, r.Bytes, r.Record = r.Number(), r.Number(), r.Number()
		r.HasDone = r.Number() != 0
		r.Done = r.Number()
		r.Op, r.Path, r.Text = string(r.Slice()), string(r.Slice()), string(r.Slice())
	}
	return r
}

// Values that C has numbers for: functions, and what they have thrown.
var (
	lock   sync.Mutex
	values = map[uint64]any{}
	last   uint64
)

// keep gives a value a number; 0: there is none.
func keep(value any) uint64 {
	if value == nil {
		return 0
	}
	lock.Lock()
	defer lock.Unlock()
	last++
	values[last] = value
	return last
}

// Kept is how many there are.
func Kept() int {
	lock.Lock()
	defer lock.Unlock()
	return len(values)
}

func forget(id uint64) any {
	lock.Lock()
	defer lock.Unlock()
	value := values[id]
	delete(values, id)
	return value
}

func function[F any](id uint64) F {
	lock.Lock()
	defer lock.Unlock()
	return values[id].(F)
}

// Functions of the caller's, as the facade keeps them.  Memory is that of the library until they return.
type (
	Progress func(phase string, done, total uint64) bool
	Cmp      func(a, b unsafe.Pointer) int
	Keys     func(records unsafe.Pointer, keys []uint64) error
	Visit    func(i uint64, records []byte) error
	Test     func(record unsafe.Pointer) bool
	Disorder func(number uint64, record []byte)
	Log      func(level int, line string)
	Ask      func(a, b []byte) (answer []byte, some bool, err error)
)

// Asked is a function of a stream, and what is to be done when nobody will call it any more.  One that watches a graph
// is Told in place of Ask.
type Asked struct {
	Ask
	Told func(phase uint, done, total uint64) bool // how far its graph got
	Stop func()
}

var phases = []string{"runs", "merge", "output"}

// caught keeps what a function has panicked with.
func caught(thrown *uint64) {
	if p := recover(); p != nil {
		*thrown = keep(Panic{p})
	}
}

//export embGoRelease
func embGoRelease(id uint64) {
	if f, is := forget(id).(Asked); is && f.Stop != nil {
		defer func() { _ = recover() }()
		f.Stop()
	}
}

// embGoCollect has finalizers run for what nobody has any more: they are queued at the end of a collection, and wait
// for those of the one before.
//
//export embGoCollect
func embGoCollect() {
	for range 2 {
		done := make(chan struct{})
		runtime.SetFinalizer(&struct{ at *int }{new(int)}, func(any) { close(done) })
		runtime.GC()
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
}

//export embGoProgress
func embGoProgress(id uint64, phase uint32, done, total uint64, stop *C.int) (thrown uint64) {
	defer caught(&thrown)
	told := function[any](id)
	if asked, is := told.(Asked); is {
		*stop = C.int(truth(asked.Told(uint(phase), done, total)))
		return 0
	}
	name := fmt.Sprint(phase)
	if phase < uint32(len(phases)) {
		name = phases[phase]
	}
	*stop = C.int(truth(told.(Progress)(name, done, total)))
	return 0
}

//export embGoCmp
func embGoCmp(id uint64, a, b unsafe.Pointer, bytes uint64, result *C.int) (thrown uint64) {
	defer caught(&thrown)
	n := function[Cmp](id)(a, b)
	*result = C.int(truth(n > 0) - truth(n < 0))
	return 0
}

//export embGoKeys
func embGoKeys(id uint64, records unsafe.Pointer, bytes uint64, keys unsafe.Pointer, n uint64) (thrown uint64) {
	defer caught(&thrown)
	return keep(function[Keys](id)(records, unsafe.Slice((*uint64)(keys), n)))
}

//export embGoVisit
func embGoVisit(id, i uint64, records unsafe.Pointer, bytes uint64, change C.int) (thrown uint64) {
	defer caught(&thrown)
	return keep(function[Visit](id)(i, unsafe.Slice((*byte)(records), bytes)))
}

//export embGoTest
func embGoTest(id uint64, record unsafe.Pointer, bytes uint64, result *C.int) (thrown uint64) {
	defer caught(&thrown)
	*result = C.int(truth(function[Test](id)(record)))
	return 0
}

//export embGoDisorder
func embGoDisorder(id, number uint64, record unsafe.Pointer, bytes uint64) (thrown uint64) {
	defer caught(&thrown)
	function[Disorder](id)(number, append([]byte(nil), unsafe.Slice((*byte)(record), bytes)...))
	return 0
}

//export embGoAsk
func embGoAsk(id uint64, a unsafe.Pointer, na uint64, b unsafe.Pointer, nb uint64, f unsafe.Pointer,
	some *C.int) (thrown uint64) {
	defer caught(&thrown)
	answer, is, err := function[Asked](id).Ask(unsafe.Slice((*byte)(a), na), unsafe.Slice((*byte)(b), nb))
	if err != nil || !is {
		return keep(err)
	}
	*some = -1
	if to := C.emb_go_answer(f, C.ulonglong(len(answer))); to != nil {
		copy(unsafe.Slice((*byte)(to), len(answer)), answer)
		*some = 1
	}
	return 0
}

//export embGoLog
func embGoLog(id uint64, level C.int, line *C.char) {
	defer func() { _ = recover() }() // With nobody to tell.
	function[Log](id)(int(level), C.GoString(line))
}
