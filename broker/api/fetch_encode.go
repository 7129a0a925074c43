package api

import (
	"encoding/binary"

	"kz/broker/network"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/wire"
)

// The answer to a Fetch, big-endian. Record bytes are not in memory: they go from file
// to socket. So this one answer is written by hand, in one buffer for all that is not
// records, cut into pieces where a file's range comes in between.
//
//	throttle ms     i32       0
//	error           i16       v7+
//	session id      i32       v7+
//	topics          array
//	  name          string
//	  partitions    array
//	    partition           i32
//	    error               i16
//	    high watermark      i64
//	    last stable offset  i64
//	    log start offset    i64       v5+
//	    aborted             array of (producer id i64, first offset i64), null unless read_committed
//	    preferred replica   i32       v11+, -1
//	    records             i32 length and bytes; v12: uvarint length+1 and bytes; never null
//	    tags                v12: count, then tag 0 (diverging epoch i32, end offset i64) if there is one
//	  tags          v12
//	tags            v12
//
// In v12 strings and arrays have uvarint lengths plus one, and every structure ends in
// tags; see wire for the header before all this.

// fetchAnswer is what the encoder needs to know.
type fetchAnswer struct {
	version       int16
	code          kafkaerr.Code
	session       int32
	readCommitted bool
	results       []replica.FetchResult // consecutive ones of a topic share its entry
}

const fetchFlexible = 12

// fetchWriter appends fields in the form of a version.
type fetchWriter struct {
	b        []byte
	flexible bool
}

func (w *fetchWriter) i16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *fetchWriter) i32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *fetchWriter) i64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *fetchWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

// array is the length of an array; -1 is null.
func (w *fetchWriter) array(n int) {
	if w.flexible {
		w.uvarint(uint64(n + 1))
		return
	}
	w.i32(int32(n))
}

func (w *fetchWriter) string(s string) {
	if w.flexible {
		w.uvarint(uint64(len(s) + 1))
	} else {
		w.i16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// noTags ends a structure.
func (w *fetchWriter) noTags() {
	if w.flexible {
		w.b = append(w.b, 0)
	}
}

// encodeFetch writes the answer as parts: bytes and ranges of files in turn. The data
// of the results is released by the parts.
func encodeFetch(a fetchAnswer) []network.Part {
	buf := wire.GetBuffer(fetchBufferSize(a.results))
	w := fetchWriter{b: buf.B[:0], flexible: a.version >= fetchFlexible}
	w.i32(0)
	if a.version >= 7 {
		w.i16(int16(a.code))
		w.i32(a.session)
	}
	runs := topicRuns(a.results)
	w.array(len(runs))
	var cuts []int // where in w.b the records of results with data come in
	next := 0
	for _, n := range runs {
		w.string(a.results[next].Partition.Topic)
		w.array(n)
		for i := range a.results[next : next+n] {
			if w.partition(&a, &a.results[next+i]) {
				cuts = append(cuts, len(w.b))
			}
			w.partitionTags(&a.results[next+i])
		}
		next += n
		w.noTags()
	}
	w.noTags()
	return weave(w.b, cuts, a.results, buf)
}

// partition writes a partition up to its records and says whether there are any.
func (w *fetchWriter) partition(a *fetchAnswer, r *replica.FetchResult) (data bool) {
	w.i32(r.Partition.Partition)
	w.i16(int16(r.Code))
	w.i64(r.HighWatermark)
	w.i64(r.LastStableOffset)
	if a.version >= 5 {
		w.i64(r.LogStartOffset)
	}
	if a.readCommitted && r.Code == kafkaerr.None {
		w.array(0)
	} else {
		w.array(-1)
	}
	if a.version >= 11 {
		w.i32(r.PreferredReadReplica)
	}
	n := r.Data.Len()
	if w.flexible {
		w.uvarint(uint64(n + 1))
	} else {
		w.i32(int32(n))
	}
	return n > 0
}

// partitionTags ends a partition, after its records.
func (w *fetchWriter) partitionTags(r *replica.FetchResult) {
	if !w.flexible {
		return
	}
	if r.DivergingEpoch < 0 {
		w.noTags()
		return
	}
	w.b = append(w.b, 1, 0, 13) // one tag, number 0, of 13 bytes
	w.i32(r.DivergingEpoch)
	w.i64(r.DivergingEndOffset)
	w.noTags()
}

// topicRuns is the lengths of the runs of results that have the same topic.
func topicRuns(results []replica.FetchResult) []int {
	var runs []int
	for i := range results {
		if i > 0 && results[i].Partition.Topic == results[i-1].Partition.Topic {
			runs[len(runs)-1]++
			continue
		}
		runs = append(runs, 1)
	}
	return runs
}

// fetchBufferSize is enough for all that is not records.
func fetchBufferSize(results []replica.FetchResult) int {
	n := 32
	for i := range results {
		n += 80 + len(results[i].Partition.Topic)
	}
	return n
}

// weave puts the ranges of files between the pieces of b. The last piece of b gives
// the buffer back: it is the last to be sent.
func weave(b []byte, cuts []int, results []replica.FetchResult, buf *wire.Buffer) []network.Part {
	parts := make([]network.Part, 0, 2*len(cuts)+1)
	from, cut := 0, 0
	for i := range results {
		d := results[i].Data
		if d.Len() == 0 {
			results[i].Release()
			continue
		}
		parts = append(parts,
			network.Part{Bytes: b[from:cuts[cut]]},
			network.Part{File: d.File, Offset: d.Offset, Length: d.Length, Release: d.Release})
		from = cuts[cut]
		cut++
	}
	return append(parts, network.Part{Bytes: b[from:], Release: buf.Free})
}
