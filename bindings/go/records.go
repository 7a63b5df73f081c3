// SPDX-License-Identifier: BSL-1.0

package extmem

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"extmem/internal/raw"
)

// sizeOf is how many bytes a record has; 0: it is a string, of any length.
func sizeOf[T any]() uint64 {
	var one T
	if _, is := any(one).(string); is {
		return 0
	}
	return uint64(unsafe.Sizeof(one))
}

// bytesOf sees records as memory.
func bytesOf[T any](records []T) []byte {
	if len(records) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(records))), uint64(len(records))*sizeOf[T]())
}

func bytesOfOne[T any](record *T) []byte {
	if line, is := any(record).(*string); is {
		return []byte(*line)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(record)), unsafe.Sizeof(*record))
}

// recordOf copies a record out of memory that may be aligned in any way.
func recordOf[T any](b []byte) (record T) {
	if line, is := any(&record).(*string); is {
		*line = string(b)
		return record
	}
	copy(bytesOfOne(&record), b)
	return record
}

// seen are bytes as records: the same memory, if it is aligned, and a copy of lines, which end where `ends' says.
func seen[T any](b, ends []byte) []T {
	var one T
	if sizeOf[T]() == 0 {
		lines, begin := make([]string, 0, len(ends)/8), uint64(0)
		for _, end := range seen[uint64](ends, nil) {
			lines = append(lines, string(b[begin:end]))
			begin = end
		}
		return any(lines).([]T)
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	n := uint64(len(b)) / sizeOf[T]()
	if uintptr(p)%unsafe.Alignof(one) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	all := make([]T, n)
	copy(bytesOf(all), b)
	return all
}

// joined are lines as C wants them: how many, where they end, and they.
func joined(lines []string) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(len(lines)))
	at := 0
	for _, line := range lines {
		at += len(line)
		b = binary.NativeEndian.AppendUint64(b, uint64(at))
	}
	return append(b, strings.Join(lines, "")...)
}

// pushed pushes records, or lines, by one of two functions.
func pushed[T any](h handle, records []T, many, lines func(handle, []byte) *raw.Result) error {
	if all, is := any(records).([]string); is {
		return only(lines(h, joined(all)))
	}
	return only(many(h, bytesOf(records)))
}

func endian() string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return "le"
	}
	return "be"
}

var kinds = map[reflect.Kind]string{
	reflect.Uint8: "u8", reflect.Int8: "i8", reflect.Uint16: "u16", reflect.Int16: "i16", reflect.Uint32: "u32",
	reflect.Int32: "i32", reflect.Uint64: "u64", reflect.Int64: "i64", reflect.Uint: "u64", reflect.Int: "i64",
	reflect.Float32: "f32", reflect.Float64: "f64", reflect.Bool: "u8",
}

type field struct{ name, key string }

// fields are the parts of a type by name, with what an order calls them; those of a struct are the outer ones only.
func fields(t reflect.Type, name string, at uintptr) ([]field, error) {
	if kind, is := kinds[t.Kind()]; is {
		if t.Size() > 1 {
			kind += endian()
		}
		return []field{{name, fmt.Sprintf("%s@%d", kind, at)}}, nil
	}
	switch t.Kind() {
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return []field{{name, fmt.Sprintf("bytes%d@%d", t.Len(), at)}}, nil
		}
		var all []field
		for i := 0; i < t.Len(); i++ {
			one, err := fields(t.Elem(), fmt.Sprintf("%s[%d]", name, i), at+uintptr(i)*t.Elem().Size())
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	case reflect.Struct:
		var all []field
		for i := 0; i < t.NumField(); i++ {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			inner := f.Name
			if name != "" {
				inner = name + "." + f.Name
			}
			one, err := fields(f.Type, inner, at+f.Offset)
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	}
	return nil, invalid("records cannot have a %v: they are bytes on disks", t)
}

// valid tells whether records may have a type: also lines.
func valid[T any]() error {
	if sizeOf[T]() == 0 && reflect.TypeFor[T]().Kind() == reflect.String {
		return nil
	}
	_, err := orderName[T]("")
	return err
}

// orderName is that of em_order_name() for "Field,-Other", all fields (""), or as the library has it ("u64le@0:r").
func orderName[T any](key string) (string, error) {
	t := reflect.TypeFor[T]()
	all, err := fields(t, "", 0)
	if t.Size() == 0 {
		return "", invalid("%v has no bytes", t)
	}
	if err != nil || strings.Contains(key, "@") {
		return key, err
	}
	var names []string
	if key == "" {
		for _, f := range all {
			names = append(names, f.key)
		}
		return strings.Join(names, ","), nil
	}
	for _, want := range strings.Split(key, ",") {
		name, descending := strings.CutPrefix(want, "-")
		i := slices.IndexFunc(all, func(f field) bool { return f.name == name || name == "." && f.name == "" })
		if i < 0 {
			return "", invalid("records have no field %s", want)
		}
		names = append(names, all[i].key+map[bool]string{true: ":r"}[descending])
	}
	return strings.Join(names, ","), nil
}

// Order is how records are sorted.  It may be shared.
type Order struct {
	object
	bytes uint64
}

// NewOrder sorts by fields: "Field,-Other" (- descends; a number is called "."), or "": all of them.
func NewOrder[T any](ctx *Context, key string) (*Order, error) {
	name, err := orderName[T](key)
	if err != nil {
		return nil, err
	}
	return open(&Order{bytes: sizeOf[T]()}, raw.Em_order_parse(ctx, sizeOf[T](), name))
}

func functionOrder[T any](ctx *Context, how func(handle, Options) *raw.Result, fn any) (*Order, error) {
	if _, err := orderName[T](""); err != nil {
		return nil, err
	}
	return open(&Order{bytes: sizeOf[T]()}, how(ctx, Options{"record_size": sizeOf[T](), "fn": fn}))
}

// NewOrderKeys sorts by keys that a function computes of many records at a time, which it does not keep.
func NewOrderKeys[T any](ctx *Context, fn func(records []T, keys []uint64) error) (*Order, error) {
	return functionOrder[T](ctx, raw.Em_order_key_fn, raw.Keys(func(records unsafe.Pointer, keys []uint64) error {
		return fn(unsafe.Slice((*T)(records), len(keys)), keys)
	}))
}

// NewOrderCmp sorts by a comparison, which is slow.
func NewOrderCmp[T any](ctx *Context, cmp func(a, b *T) int) (*Order, error) {
	return functionOrder[T](ctx, raw.Em_order_cmp, raw.Cmp(func(a, b unsafe.Pointer) int {
		return cmp((*T)(a), (*T)(b))
	}))
}

// NewTextOrder sorts lines by options of the command: "-t, -k3,3nr".
func NewTextOrder(ctx *Context, options string) (*Order, error) {
	return open(&Order{}, raw.Emb_order_options(ctx, options))
}

// Name is what files call it, if it is not a function.
func (o *Order) Name() string { return raw.Em_order_name(o) }

// orderBy is an order by fields of a type, or, of lines, by options of the command.
func orderBy[T any](ctx *Context, key string) (*Order, error) {
	if sizeOf[T]() == 0 {
		return NewTextOrder(ctx, key)
	}
	return NewOrder[T](ctx, key)
}

// orderOr is an order of its own for records of a type, if none is given.
func orderOr[T any](ctx *Context, order *Order) (*Order, error) {
	switch {
	case order == nil:
		return orderBy[T](ctx, "")
	case order.bytes != sizeOf[T]():
		return nil, invalid("the order is of other records than %v", reflect.TypeFor[T]())
	}
	return order, nil
}
