package answers

import (
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
)

// fill copies a decoded JSON value into a kmsg struct (or part of one).
func (t *T) fill(into any, from any) { t.fillValue(reflect.ValueOf(into).Elem(), from) }

func (t *T) fillValue(v reflect.Value, from any) {
	switch v.Kind() {
	case reflect.Struct:
		if d, ok := v.Addr().Interface().(interface{ Default() }); ok {
			d.Default()
		}
		for k, x := range from.(map[string]any) {
			f := v.FieldByName(k)
			if !f.IsValid() {
				t.tb.Fatalf("%s has no field %s", v.Type(), k)
			}
			t.fillValue(f, x)
		}
	case reflect.Slice:
		if from == nil {
			v.Set(reflect.Zero(v.Type()))
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(t.blob(from.(string)))
			return
		}
		list := from.([]any)
		s := reflect.MakeSlice(v.Type(), len(list), len(list))
		for i, x := range list {
			t.fillValue(s.Index(i), x)
		}
		v.Set(s)
	case reflect.Pointer:
		if from == nil {
			v.Set(reflect.Zero(v.Type()))
			return
		}
		p := reflect.New(v.Type().Elem())
		t.fillValue(p.Elem(), from)
		v.Set(p)
	case reflect.String:
		v.SetString(from.(string))
	case reflect.Bool:
		v.SetBool(from.(bool))
	case reflect.Float64:
		f, _ := from.(json.Number).Float64()
		v.SetFloat(f)
	case reflect.Array: // a topic id, in hex
		b, err := hex.DecodeString(from.(string))
		if err != nil || len(b) != v.Len() {
			t.tb.Fatalf("topic id %q", from)
		}
		reflect.Copy(v, reflect.ValueOf(b))
	default:
		n, err := from.(json.Number).Int64()
		if err != nil {
			t.tb.Fatal(err)
		}
		v.SetInt(n)
	}
}

func (t *T) blob(s string) []byte {
	if !strings.HasPrefix(s, "@") {
		return []byte(s)
	}
	b, ok := t.bin[s[1:]]
	if !ok {
		t.tb.Fatalf("no blob %s", s)
	}
	return b
}
