package wire

import (
	"bytes"
	"encoding/binary"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The bytes that docs/formats/frame.md shows are the bytes that we write.
func TestTheFrameDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/formats/frame.md")
	if err != nil {
		t.Fatal(err)
	}
	all := func(version int16) []byte {
		req := metadataRequest(version)
		req.Topics = nil
		req.AllowAutoTopicCreation = true
		return AppendRequest(nil, req, 42, "kcat")
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = 35
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MinVersion: 0, MaxVersion: 3}}
	unsupported := resp.AppendTo(AppendResponseHeader(make([]byte, 4), 18, 99, 1))
	binary.BigEndian.PutUint32(unsupported, uint32(len(unsupported)-4))

	want := [][]byte{all(1), all(9), unsupported}
	blocks := regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) != len(want) {
		t.Fatalf("%d examples, want %d", len(blocks), len(want))
	}
	for i, block := range blocks {
		var shown []byte
		for line := range strings.Lines(block[1]) {
			column := line[:min(len(line), 26)] // bytes stand here, their meaning behind
			shown = append(shown, unhex(t, strings.Join(strings.Fields(column), ""))...)
		}
		if !bytes.Equal(shown, want[i]) {
			t.Errorf("example %d shows\n%x, we write\n%x", i+1, shown, want[i])
		}
	}
}
