package zkpaths

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrNotJSON is wrapped by every decoder whose input is no JSON object at all.
var ErrNotJSON = errors.New("not a JSON object")

// ---- reading ----------------------------------------------------------------------

// object is a JSON object, its values not looked at yet. Key case matters (encoding/json
// on structs would ignore it), duplicate keys: the last wins, as in Jackson.
type object map[string]json.RawMessage

// parseObject reads the first JSON value of b. What follows it is ignored, as Kafka does.
func parseObject(b []byte) (object, error) {
	var o object
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&o); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotJSON, err)
	}
	if o == nil {
		return nil, fmt.Errorf("%w: null", ErrNotJSON)
	}
	return o, nil
}

// get decodes a required key. JSON null counts as missing.
func get[T any](o object, key string) (v T, err error) {
	raw, ok := o[key]
	if !ok || isNull(raw) {
		return v, fmt.Errorf("key %q is missing", key)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("key %q: %w", key, err)
	}
	return v, nil
}

// getOr is get with a default for a key that is missing or null.
func getOr[T any](o object, key string, def T) (T, error) {
	if raw, ok := o[key]; !ok || isNull(raw) {
		return def, nil
	}
	return get[T](o, key)
}

// ids decodes a list of broker ids. encoding/json would take a null element as 0.
func ids(o object, key string) ([]int32, error) {
	list, err := get[[]json.RawMessage](o, key)
	if err != nil {
		return nil, err
	}
	out := make([]int32, len(list))
	for i, raw := range list {
		if out[i], err = number(raw); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
	}
	return out, nil
}

func number(raw json.RawMessage) (int32, error) {
	if isNull(raw) {
		return 0, errors.New("null instead of a number")
	}
	var n int32
	err := json.Unmarshal(raw, &n)
	return n, err
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// ---- writing ----------------------------------------------------------------------

// writer appends compact JSON. Its methods return the writer so that an encoder reads
// like the text it produces.
type writer struct{ buf []byte }

func (w *writer) raw(s string) *writer { w.buf = append(w.buf, s...); return w }

func (w *writer) num(n int64) *writer { w.buf = strconv.AppendInt(w.buf, n, 10); return w }

// str writes a string as Jackson does: control characters escaped, everything else
// (also '/', '<', and all above ASCII) as it is, in UTF-8.
func (w *writer) str(s string) *writer {
	const hex = "0123456789ABCDEF"
	w.buf = append(w.buf, '"')
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		switch {
		case r == '"' || r == '\\':
			w.buf = append(w.buf, '\\', byte(r))
		case r >= 0x20:
			w.buf = utf8.AppendRune(w.buf, r)
		case r == '\b':
			w.buf = append(w.buf, '\\', 'b')
		case r == '\t':
			w.buf = append(w.buf, '\\', 't')
		case r == '\n':
			w.buf = append(w.buf, '\\', 'n')
		case r == '\f':
			w.buf = append(w.buf, '\\', 'f')
		case r == '\r':
			w.buf = append(w.buf, '\\', 'r')
		default:
			w.buf = append(w.buf, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		}
	}
	w.buf = append(w.buf, '"')
	return w
}

// ids writes [1,2,3].
func (w *writer) ids(ids []int32) *writer {
	list(w, ids, func(id int32) { w.num(int64(id)) })
	return w
}

// list writes [a,b,c], each element by f.
func list[T any](w *writer, items []T, f func(T)) {
	w.raw("[")
	for i, item := range items {
		if i > 0 {
			w.raw(",")
		}
		f(item)
	}
	w.raw("]")
}

// dict writes {"k":v,…} in the order of keys, each value by f.
func dict(w *writer, keys []string, f func(key string)) {
	w.raw("{")
	for i, k := range keys {
		if i > 0 {
			w.raw(",")
		}
		w.str(k).raw(":")
		f(k)
	}
	w.raw("}")
}
