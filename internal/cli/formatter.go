package cli

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"kz/internal/record"
	"kz/internal/topic"
)

// shownRecord is a record as a formatter gets it.
type shownRecord struct {
	part       topic.Partition
	appendTime bool // the timestamp is the broker's, not the producer's
	record.Record
}

// A formatter prints records. Mirrors org.apache.kafka.common.MessageFormatter.
type formatter func(w io.Writer, r shownRecord) error

const defaultFormatter = "kafka.tools.DefaultMessageFormatter"

// newFormatter finds the formatter of a Java class: those of Kafka itself.
func newFormatter(e *env, tool, class string, props map[string]string) (formatter, error) {
	switch class {
	case "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter":
		return formatStoredOffset, nil
	case "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter":
		return formatStoredGroup, nil
	case "kafka.tools.NoOpMessageFormatter":
		return func(io.Writer, shownRecord) error { return nil }, nil
	case defaultFormatter, "kafka.tools.LoggingMessageFormatter":
		f, err := newLineFormatter(e, tool, props)
		if err != nil {
			return nil, err
		}
		if class == defaultFormatter {
			return f.print, nil
		}
		return func(w io.Writer, r shownRecord) error {
			fmt.Fprintf(e.stderr, "%s:%d, key:%s, value:%s\n", typeOfTime(r), r.Timestamp, orNull(r.Key), orNull(r.Value))
			return f.print(w, r)
		}, nil
	}
	return nil, exitf(exitFailed, "java.lang.ClassNotFoundException: %s: kz loads no Java classes; it knows Kafka's own formatters but ChecksumMessageFormatter", class)
}

func orNull(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}

func typeOfTime(r shownRecord) string {
	if r.appendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// lineFormatter prints a line per record. Mirrors DefaultMessageFormatter.
type lineFormatter struct {
	timestamp, partition, offset, headers, key, value bool

	keySeparator, lineSeparator, headersSeparator, null string
	readKey, readValue, readHeader                      deserializer
}

// A deserializer shows bytes as text; nil shows them as they are.
type deserializer func([]byte) (string, error)

var formatterProperties = []string{"print.timestamp", "print.partition", "print.offset", "print.headers", "print.key", "print.value",
	"key.separator", "line.separator", "headers.separator", "null.literal", "key.deserializer", "value.deserializer", "headers.deserializer"}

func newLineFormatter(e *env, tool string, props map[string]string) (*lineFormatter, error) {
	f := &lineFormatter{value: true, keySeparator: "\t", lineSeparator: "\n", headersSeparator: ",", null: "null"}
	flags := map[string]*bool{"print.timestamp": &f.timestamp, "print.partition": &f.partition, "print.offset": &f.offset,
		"print.headers": &f.headers, "print.key": &f.key, "print.value": &f.value}
	texts := map[string]*string{"key.separator": &f.keySeparator, "line.separator": &f.lineSeparator, "headers.separator": &f.headersSeparator, "null.literal": &f.null}
	readers := map[string]*deserializer{"key.deserializer": &f.readKey, "value.deserializer": &f.readValue, "headers.deserializer": &f.readHeader}
	for k, v := range props {
		if to := flags[k]; to != nil {
			*to = strings.EqualFold(strings.TrimSpace(v), "true")
		} else if to := texts[k]; to != nil {
			*to = v
		} else if to := readers[k]; to != nil {
			d, known := deserializers[strings.TrimPrefix(v, "org.apache.kafka.common.serialization.")]
			if !known {
				return nil, exitf(exitFailed, "java.lang.ClassNotFoundException: %s: kz loads no Java classes; it knows Kafka's own deserializers of strings and numbers", v)
			}
			*to = d
		} else {
			warnProperty(e, tool, k, formatterProperties)
		}
	}
	return f, nil
}

// deserializers are Kafka's own, by the short name of their class.
var deserializers = map[string]deserializer{
	"StringDeserializer": nil, "ByteArrayDeserializer": nil, "BytesDeserializer": nil,
	"ShortDeserializer":   fixed("ShortDeserializer", 2, func(b []byte) string { return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b)))) }),
	"IntegerDeserializer": fixed("IntegerDeserializer", 4, func(b []byte) string { return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b)))) }),
	"LongDeserializer":    fixed("LongDeserializer", 8, func(b []byte) string { return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10) }),
	"FloatDeserializer": fixed("FloatDeserializer", 4, func(b []byte) string {
		return strconv.FormatFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 'g', -1, 32)
	}),
	"DoubleDeserializer": fixed("DoubleDeserializer", 8, func(b []byte) string {
		return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 'g', -1, 64)
	}),
}

func fixed(class string, size int, show func([]byte) string) deserializer {
	return func(b []byte) (string, error) {
		if len(b) != size {
			return "", fmt.Errorf("org.apache.kafka.common.errors.SerializationException: Size of data received by %s is not %d", class, size)
		}
		return show(b), nil
	}
}

// print writes the columns that are wanted, and the line's end after the last.
func (f *lineFormatter) print(w io.Writer, r shownRecord) error {
	type column struct {
		wanted bool
		text   func() (string, error)
	}
	plain := func(s string) func() (string, error) { return func() (string, error) { return s, nil } }
	columns := []column{
		{f.timestamp, plain(fmt.Sprintf("%s:%d", typeOfTime(r), r.Timestamp))},
		{f.partition, plain(fmt.Sprintf("Partition:%d", r.part.Partition))},
		{f.offset, plain(fmt.Sprintf("Offset:%d", r.Offset))},
		{f.headers, func() (string, error) { return f.headersText(r.Headers) }},
		{f.key, func() (string, error) { return f.text(f.readKey, r.Key) }},
		{f.value, func() (string, error) { return f.text(f.readValue, r.Value) }},
	}
	var b bytes.Buffer
	for _, c := range columns {
		if !c.wanted {
			continue
		}
		s, err := c.text()
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			b.WriteString(f.keySeparator)
		}
		b.WriteString(s)
	}
	if f.timestamp || f.partition || f.offset || f.headers || f.key || f.value {
		b.WriteString(f.lineSeparator)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// text shows a key, a value or a header; none at all is the literal for null.
func (f *lineFormatter) text(read deserializer, b []byte) (string, error) {
	if b == nil {
		return f.null, nil
	}
	if read == nil {
		return string(b), nil
	}
	return read(b)
}

func (f *lineFormatter) headersText(headers []record.Header) (string, error) {
	if len(headers) == 0 {
		return "NO_HEADERS", nil
	}
	var out []string
	for _, h := range headers {
		s, err := f.text(f.readHeader, h.Value)
		if err != nil {
			return "", err
		}
		out = append(out, h.Key+":"+s)
	}
	return strings.Join(out, f.headersSeparator), nil
}
