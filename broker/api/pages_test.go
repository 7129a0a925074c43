package api

import (
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kz/broker/commitlog"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/wire"
)

// blocks reads the annotated bytes of a page: its fenced blocks by name, each line a
// position, up to eight bytes, and words. Positions must count the bytes.
func blocks(t *testing.T, page string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	line := regexp.MustCompile(`^ *(\d+)  ((?:[0-9a-f]{2} ?){1,8})(?: |$)`)
	for _, part := range regexp.MustCompile("(?s)```([a-z]+-[a-z]+ \\d+)\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		for _, l := range strings.Split(strings.TrimSpace(part[2]), "\n") {
			m := line.FindStringSubmatch(" " + l)
			if m == nil {
				t.Fatalf("%s: no bytes in %q", page, l)
			}
			if m[1] != strconv.Itoa(len(out[part[1]])/2) {
				t.Errorf("%s, %s: position %s, the bytes before it count %d", page, part[1], m[1], len(out[part[1]])/2)
			}
			out[part[1]] += strings.ReplaceAll(m[2], " ", "")
		}
	}
	return out
}

// The bytes that docs/formats shows are those that are read and written here.
func TestProduceAndFetchPages(t *testing.T) {
	got := map[string][]byte{}
	for _, version := range []int16{8, 9} {
		req := produceRequest(version, -1, batch("k", "v"))
		n := " " + strconv.Itoa(int(version))
		got["produce-request"+n] = wire.AppendRequest(nil, req, 5, "c")
		got["produce-answer"+n] = newBench(t).send(t, wire.RequestHeader{Key: keyProduce, Version: version}, req.AppendTo(nil)).bytes()
	}
	req := fetchRequest(11, 0)
	req.MaxWaitMillis = 500
	got["fetch-request 11"] = wire.AppendRequest(nil, req, 6, "c")
	for _, version := range []int16{11, 12} {
		r := replica.FailedFetch(topic.Partition{Topic: "t", Partition: 0}, kafkaerr.None)
		r.HighWatermark, r.LastStableOffset, r.LogStartOffset = 8, 8, 1
		r.Data = commitlog.Slice{File: tempFile(t, "...records..."), Offset: 3, Length: 7}
		r.DivergingEpoch, r.DivergingEndOffset = 3, 9 // only version 12 can say so
		got["fetch-answer "+strconv.Itoa(int(version))] = concat(t, fetchAnswer{version: version, results: []replica.FetchResult{r}})
	}
	shown := blocks(t, "../../docs/formats/produce.md")
	for name, text := range blocks(t, "../../docs/formats/fetch.md") {
		shown[name] = text
	}
	if len(shown) != len(got) {
		t.Errorf("the pages show %d blocks, %d are checked", len(shown), len(got))
	}
	for name, b := range got {
		if shown[name] != hex.EncodeToString(b) {
			t.Errorf("%s\nwritten %x\nshown   %s", name, b, shown[name])
		}
	}
}
