// SPDX-License-Identifier: BSL-1.0

package raw

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
)

// Object is what has a handle.
type Object struct{ id uint64 }

// Handle is an object that a call is about; it lives until that is over.
type Handle interface{ handle() *Object }

func (o *Object) handle() *Object { return o }

// Set gives an object its handle.
func Set(h Handle, id uint64) { h.handle().id = id }

func alive(value any) { runtime.KeepAlive(value) }

func number(h Handle) uint64 { return h.handle().id }

func numbers(all []Handle) []byte {
	b := make([]byte, 0, 8*len(all))
	for _, h := range all {
		b = binary.NativeEndian.AppendUint64(b, number(h))
	}
	return b
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

// text is one with a zero behind it; what has one in it is refused, as it has none.
func text(s string) []byte {
	if strings.ContainsRune(s, 0) {
		return []byte("?")
	}
	return append([]byte(s), 0)
}

func texts(list []string) []byte {
	b := []byte{}
	for _, s := range list {
		b = append(b, text(s)...)
	}
	return b
}

// encode writes names and values of options, each with a zero behind it; what cannot be is told by one without a name.
func encode(opts map[string]any) []byte { return add([]byte{}, "", opts) }

func add(to []byte, name string, value any) []byte {
	inner := name + "."
	switch v := value.(type) {
	case map[string]any:
		for field, one := range v {
			to = add(to, strings.TrimPrefix(inner, ".")+field, one)
		}
		return to
	case []map[string]any:
		for i, one := range v {
			to = add(to, inner+fmt.Sprint(i), one)
		}
		return to
	case []string:
		for _, one := range v {
			to = add(to, name, one)
		}
		return to
	case Handle:
		value = number(v)
	case bool:
		value = truth(v)
	case func(phase string, done, total uint64) bool:
		value = fmt.Sprint("#", keep(Progress(v)))
	case func(level int, line string):
		value = fmt.Sprint("#", keep(Log(v)))
	case Cmp, Keys:
		value = fmt.Sprint("#", keep(v))
	case int, int32, int64, uint, uint32, uint64, float64, string:
	default:
		name, value = "", fmt.Sprintf("the option %s cannot be a %T", name, value)
	}
	written := fmt.Sprint(value)
	if strings.ContainsRune(name+written, 0) {
		name, written = "", "an option has a zero in it"
	}
	return append(append(to, text(name)...), text(written)...)
}
