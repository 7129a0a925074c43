package record

import "strconv"

// Codec is the compression in bits 0-2 of a batch's attributes.
//
// Mirrors CompressionType.
type Codec int8

const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}
var codecEnums = [...]string{None: "NONE", Gzip: "GZIP", Snappy: "SNAPPY", LZ4: "LZ4", Zstd: "ZSTD"}

// Known says whether Kafka 2.8 has such a codec; the three bits leave room for 5 to 7.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is the name in configuration: none, gzip, snappy, lz4, zstd.
func (c Codec) String() string {
	if !c.Known() {
		return "codec " + strconv.Itoa(int(c))
	}
	return codecNames[c]
}

// Name is the name that kafka-dump-log prints: NONE, GZIP, SNAPPY, LZ4, ZSTD.
func (c Codec) Name() string {
	if !c.Known() {
		return "CODEC " + strconv.Itoa(int(c))
	}
	return codecEnums[c]
}

// CodecByName is the codec that a producer's compression.type names.
func CodecByName(name string) (Codec, bool) {
	for c, n := range codecNames {
		if n == name {
			return Codec(c), true
		}
	}
	return None, false
}

// TargetCodec is the codec that a topic's compression.type demands of a batch that
// arrived with source: "producer" keeps it, "uncompressed" means none. ok is false
// for a name that Kafka does not know.
//
// Mirrors BrokerCompressionCodec.getTargetCompressionCodec.
func TargetCodec(compressionType string, source Codec) (target Codec, ok bool) {
	switch compressionType {
	case "producer", "":
		return source, true
	case "uncompressed":
		return None, true
	case "none": // a producer's word; a topic says uncompressed
		return None, false
	}
	return CodecByName(compressionType)
}
