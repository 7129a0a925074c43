package answers

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	presenceMu    sync.Mutex
	presenceCache = map[string]map[string]bool{}
)

// presence finds which fields of a response exist on the wire in a version: those whose change changes the encoding.
func presence(key, version int16) map[string]bool {
	presenceMu.Lock()
	defer presenceMu.Unlock()
	id := fmt.Sprint(key, "/", version)
	if m := presenceCache[id]; m != nil {
		return m
	}
	m := map[string]bool{}
	resp := kmsg.RequestForKey(key).ResponseKind()
	resp.SetVersion(version)
	root := reflect.ValueOf(resp).Elem()
	inflate(root)
	resp.SetVersion(version)
	probe(resp, root, "", m)
	presenceCache[id] = m
	return m
}

func inflate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if n := v.Type().Field(i).Name; n != "UnknownTags" && n != "Version" {
				inflate(v.Field(i))
			}
		}
	case reflect.Slice:
		s := reflect.MakeSlice(v.Type(), 1, 1)
		if v.Type().Elem().Kind() != reflect.Uint8 {
			inflate(s.Index(0))
		}
		v.Set(s)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		inflate(p.Elem())
		v.Set(p)
	}
}

func probe(resp kmsg.Response, v reflect.Value, path string, m map[string]bool) {
	for i := 0; i < v.NumField(); i++ {
		name := v.Type().Field(i).Name
		if hidden[name] {
			continue
		}
		f, p := v.Field(i), path+"."+name
		before := resp.AppendTo(nil)
		old := reflect.New(f.Type()).Elem()
		old.Set(f)
		change(f)
		if !bytes.Equal(before, resp.AppendTo(nil)) {
			m[p] = true
		}
		if f.Kind() == reflect.Slice { // can it be null?
			f.Set(reflect.Zero(f.Type()))
			null := resp.AppendTo(nil)
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			m[p+"?"] = !bytes.Equal(null, resp.AppendTo(nil))
		}
		f.Set(old)
		switch f.Kind() {
		case reflect.Struct:
			probe(resp, f, p, m)
			for k := range m {
				if strings.HasPrefix(k, p+".") && m[k] && !strings.HasSuffix(k, "?") {
					m[p] = true
				}
			}
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.Struct {
				probe(resp, f.Index(0), p, m)
			}
		case reflect.Pointer:
			if f.Type().Elem().Kind() == reflect.Struct {
				probe(resp, f.Elem(), p, m)
			}
		}
	}
}

func change(f reflect.Value) {
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.String:
		f.SetString(f.String() + "x")
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 0, 0))
	case reflect.Pointer:
		if f.Type().Elem().Kind() == reflect.String {
			f.Set(reflect.ValueOf(ptr("x")))
			return
		}
		f.Set(reflect.Zero(f.Type()))
	case reflect.Array:
		f.Index(0).SetUint(9)
	case reflect.Float64:
		f.SetFloat(7)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.SetInt(f.Int() + 3)
	}
}
