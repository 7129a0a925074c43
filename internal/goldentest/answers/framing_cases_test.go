package answers

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func be16(n int16) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }
func be32(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func concat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return
}

// apiVersionsFrame is a whole request, from its size on.
func apiVersionsFrame(version int16, corr int32) []byte {
	r := kmsg.NewPtrApiVersionsRequest()
	r.SetVersion(version)
	r.ClientSoftwareName, r.ClientSoftwareVersion = "ans", "1"
	return frame(r.AppendTo(header(18, version, corr, ptr("ans"), version >= 3)))
}

func registerFraming() {
	id := ptr("ans")
	for _, x := range []struct {
		name string
		b    []byte
	}{
		{"size-negative", be32(-1)},
		{"size-zero", be32(0)},
		{"size-min-int32", be32(-1 << 31)},
		{"size-one-above-socket.request.max.bytes", be32(104857601)},
		{"size-at-socket.request.max.bytes-nothing-follows", be32(104857600)},
		{"size-7-header-cut", append(be32(7), make([]byte, 7)...)},
		{"size-3", append(be32(3), 0, 18, 0)},
		{"body-shorter-than-its-size", append(be32(100), header(3, 1, 1, id, false)...)},
		{"http-get", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"unknown-api-key-99", frame(header(99, 0, 1, id, false))},
		{"negative-api-key", frame(header(-1, 0, 1, id, false))},
		{"api-key-32767", frame(header(32767, 0, 1, id, false))},
		{"metadata-garbage-body", frame(append(header(3, 1, 1, id, false), 0x7f, 0xff, 0xff, 0xff, 1, 2, 3))},
		{"metadata-truncated-body", frame(append(header(3, 1, 1, id, false), 0, 0, 0, 1, 0, 9, 'a'))},
		{"metadata-empty-body", frame(header(3, 1, 1, id, false))},
		{"metadata-negative-array-length", frame(append(header(3, 0, 1, id, false), 0xff, 0xff, 0xff, 0xfe))},
		{"client-id-length-beyond-frame", frame([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff})},
		{"client-id-not-utf8", frame(concat(be16(18), be16(0), be32(1), be16(2), []byte{0xff, 0xfe}))},
		{"metadata-v9-header-without-tags", frame(append(header(3, 9, 1, id, false), 1, 0))},
		{"apiversions-v-1", frame(header(18, -1, 1, id, false))},
		{"produce-v-1", frame(header(0, -1, 1, id, false))},
	} {
		add("framing/"+x.name, func(t *T) {
			c := t.conn("leader")
			wait := 1500 * time.Millisecond
			c.raw(fmt.Sprintf("%x", x.b), x.b, wait)
			c.raw("(nothing more sent)", nil, 300*time.Millisecond)
		})
	}
}

// registerHeaders: what may be in a header, and several requests on one connection.
func registerHeaders() {
	id, api := ptr("ans"), apiVersionsFrame
	add("framing/client-id-null-header-v1", func(t *T) {
		c := t.conn("leader")
		c.clientID = nil
		c.do("Metadata", 1, `{"Topics":[]}`)
	})
	add("framing/client-id-null-header-v2", func(t *T) {
		c := t.conn("leader")
		c.clientID = nil
		c.do("Metadata", 9, `{"Topics":[]}`)
	})
	add("framing/client-id-empty", func(t *T) {
		c := t.conn("leader")
		c.clientID = ptr("")
		c.do("Metadata", 1, `{"Topics":[]}`)
	})
	add("framing/bytes-after-the-body", func(t *T) {
		r := kmsg.NewFindCoordinatorRequest()
		r.SetVersion(0)
		r.CoordinatorKey = "warm-up"
		c := t.conn("leader")
		b := r.AppendTo(header(10, 0, 1, id, false))
		c.writeBytes(frame(append(b, "trailing"...)))
		(&pending{c: c, req: &r, corr: 1, version: 0, api: "FindCoordinator", text: "good body followed by 8 bytes"}).get()
	})
	add("framing/tags-in-header-v2", func(t *T) {
		r := kmsg.NewMetadataRequest()
		r.SetVersion(9)
		r.Topics = []kmsg.MetadataRequestTopic{}
		c := t.conn("leader")
		h := header(3, 9, 1, id, false)
		h = append(h, 2, 5, 3, 'a', 'b', 'c', 200, 1, 1, 'z') // tags 5 and 200
		c.writeBytes(frame(r.AppendTo(h)))
		(&pending{c: c, req: &r, corr: 1, version: 9, api: "Metadata", text: "unknown tags 5 and 200 in the header"}).get()
	})
	add("framing/tags-in-body", func(t *T) {
		c := t.conn("leader")
		r := kmsg.NewMetadataRequest()
		r.SetVersion(9)
		r.Topics = []kmsg.MetadataRequestTopic{}
		r.UnknownTags.Set(7, []byte("hello"))
		c.writeBytes(frame(r.AppendTo(header(3, 9, 1, id, true))))
		(&pending{c: c, req: &r, corr: 1, version: 9, api: "Metadata", text: "unknown tag 7 in the body"}).get()
	})
	add("framing/tags-out-of-order", func(t *T) {
		c := t.conn("leader")
		r := kmsg.NewMetadataRequest()
		r.SetVersion(9)
		r.Topics = []kmsg.MetadataRequestTopic{}
		h := append(header(3, 9, 1, id, false), 2, 9, 1, 'a', 5, 1, 'b')
		c.writeBytes(frame(r.AppendTo(h)))
		(&pending{c: c, req: &r, corr: 1, version: 9, api: "Metadata", text: "header tags 9 then 5"}).get()
	})
	add("framing/pipelined-two", func(t *T) {
		c := t.conn("leader")
		t.topic("t", nil)
		a := c.send("Fetch", 4, `{"MaxWaitMillis":700,"MinBytes":1,"MaxBytes":1000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"FetchOffset":0,"PartitionMaxBytes":1000}]}]}`)
		b := c.send("Metadata", 1, `{"Topics":[]}`)
		a.get()
		t.note("leader", "timing", 0, "first answer took at least 700 ms", time.Since(a.sent) >= 700*time.Millisecond)
		b.get()
	})
	add("framing/pipelined-after-bad-one", func(t *T) {
		c := t.conn("leader")
		c.raw("ApiVersions v0 (corr 1), unknown api 99 (corr 2), ApiVersions v0 (corr 3) in one write", concat(api(0, 1), frame(header(99, 0, 2, id, false)), api(0, 3)), time.Second)
		c.raw("(nothing more sent)", nil, time.Second)
	})
	add("framing/one-byte-at-a-time", func(t *T) {
		c := t.conn("leader")
		r := kmsg.NewMetadataRequest()
		r.SetVersion(1)
		r.Topics = []kmsg.MetadataRequestTopic{}
		for _, x := range frame(r.AppendTo(header(3, 1, 1, id, false))) {
			c.writeBytes([]byte{x})
		}
		(&pending{c: c, req: &r, corr: 1, version: 1, api: "Metadata", text: "sent byte by byte"}).get()
	})
	add("framing/half-a-request-then-close", func(t *T) {
		c := t.conn("leader")
		c.writeBytes(api(0, 1)[:9])
		c.net.Close()
		t.conn("leader").do("Metadata", 1, `{"Topics":[]}`)
	})
}

func registerAPIVersions() {
	id := ptr("ans")
	for _, v := range []int16{0, 1, 2, 3} {
		add(fmt.Sprintf("framing/apiversions-v%d", v), func(t *T) {
			t.conn("leader").do("ApiVersions", v, `{"ClientSoftwareName":"ans","ClientSoftwareVersion":"1.0"}`)
		})
	}
	// The answer to an unsupported version is in version 0, whatever was asked: shown raw.
	for _, v := range []int16{4, 99, 32767} {
		add(fmt.Sprintf("framing/apiversions-v%d", v), func(t *T) {
			r := kmsg.NewApiVersionsRequest()
			r.SetVersion(3)
			r.ClientSoftwareName, r.ClientSoftwareVersion = "ans", "1"
			c := t.conn("leader")
			c.raw(fmt.Sprintf("ApiVersions v%d, corr 1, flexible header, v3 body", v), frame(r.AppendTo(header(18, v, 1, id, true))), 2*time.Second)
			c.do("ApiVersions", 0, `{}`)
		})
	}
	add("framing/apiversions-v99-non-flexible-header", func(t *T) {
		c := t.conn("leader")
		c.raw("ApiVersions v99, corr 1, header v1, empty body", frame(header(18, 99, 1, id, false)), 2*time.Second)
	})
	add("framing/apiversions-v99-garbage-body", func(t *T) {
		c := t.conn("leader")
		c.raw("ApiVersions v99, corr 1, header v2, body ff ff ff", frame(append(header(18, 99, 1, id, true), 255, 255, 255)), 2*time.Second)
	})
	add("framing/apiversions-v3-bad-software-name", func(t *T) {
		c := t.conn("leader")
		for _, x := range []string{
			`{"ClientSoftwareName":"","ClientSoftwareVersion":"1"}`, `{"ClientSoftwareName":"-x","ClientSoftwareVersion":"1"}`, `{"ClientSoftwareName":"a b","ClientSoftwareVersion":"1"}`,
			`{"ClientSoftwareName":"x-","ClientSoftwareVersion":"1"}`, `{"ClientSoftwareName":"x","ClientSoftwareVersion":""}`, `{"ClientSoftwareName":"x","ClientSoftwareVersion":"1.0 beta"}`,
			`{"ClientSoftwareName":"x_y","ClientSoftwareVersion":"1"}`, `{"ClientSoftwareName":"a-b.c","ClientSoftwareVersion":"1-2.3"}`} {
			c.do("ApiVersions", 3, x)
		}
	})
	add("framing/every-api-one-version-too-new", func(t *T) {
		for _, k := range kafkaAPIs(t.tb) {
			if k.ApiKey == 18 {
				continue
			}
			c := t.conn("leader")
			req := kmsg.RequestForKey(k.ApiKey)
			req.SetVersion(k.MaxVersion + 1)
			b := header(k.ApiKey, k.MaxVersion+1, 1, id, req.IsFlexible())
			c.raw(fmt.Sprintf("%s v%d, default body", apiName(k.ApiKey), k.MaxVersion+1), frame(req.AppendTo(b)), time.Second)
		}
	})
	add("framing/apis-of-other-modes", func(t *T) {
		for _, k := range []int16{52, 53, 54, 55, 58, 59, 62, 63, 64, 65, 66} {
			c := t.conn("leader")
			req := kmsg.RequestForKey(k)
			req.SetVersion(0)
			c.raw(fmt.Sprintf("%s v0, default body", apiName(k)), frame(req.AppendTo(header(k, 0, 1, id, req.IsFlexible()))), time.Second)
		}
	})
}
