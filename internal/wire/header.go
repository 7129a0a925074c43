package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A request's header, after the frame's size; integers are big-endian:
//
//	api key         int16
//	api version     int16
//	correlation id  int32   the answer carries it back
//	client id       int16 length (negative: null), then bytes    not in ControlledShutdown v0
//	tags            uvarint count, each: uvarint tag, uvarint size, bytes    flexible versions only
//
// Kafka calls these header versions 0 (no client id), 1, and 2 (tags). The client id is
// never a compact string, also in version 2: a broker must be able to read the header of
// an ApiVersions request whose version it has never heard of.

// RequestHeader is what stands before every request body. It mirrors Kafka's
// RequestHeader.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      string // "" when null
}

var (
	errHeaderCut = errors.New("request header ends early")
	errBadTags   = errors.New("request header has a malformed tag section")
)

// ParseRequestHeader reads the header; body aliases b. It does not consult Served, except
// that the header's own form depends on whether the request version is flexible (kmsg
// knows). An api key that is not Kafka's is an error, because nobody can say what its
// header looks like.
func ParseRequestHeader(b []byte) (h RequestHeader, body []byte, err error) {
	body, err = h.Parse(b)
	return h, body, err
}

// Parse is ParseRequestHeader into a header that is used again and again by one
// connection: a client id that did not change is not allocated anew.
func (h *RequestHeader) Parse(b []byte) (body []byte, err error) {
	if len(b) < 8 {
		return nil, errHeaderCut
	}
	h.Key = int16(binary.BigEndian.Uint16(b))
	h.Version = int16(binary.BigEndian.Uint16(b[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(b[4:]))
	b = b[8:]
	if !knownKey(h.Key) {
		return nil, fmt.Errorf("unknown %s", APIName(h.Key))
	}
	if h.Key == keyControlledShutdown && h.Version == 0 {
		h.ClientID = ""
		return b, nil
	}
	if b, err = h.parseClientID(b); err != nil {
		return nil, err
	}
	if flexible(h.Key, h.Version) {
		return skipTags(b)
	}
	return b, nil
}

func (h *RequestHeader) parseClientID(b []byte) ([]byte, error) {
	if len(b) < 2 {
		return nil, errHeaderCut
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	if b = b[2:]; n < 0 {
		h.ClientID = ""
		return b, nil
	}
	if n > len(b) {
		return nil, errHeaderCut
	}
	if id := b[:n]; h.ClientID != string(id) { // the comparison does not allocate
		h.ClientID = string(id)
		if !utf8.Valid(id) { // accepted, with the replacement character, as Java does
			h.ClientID = strings.ToValidUTF8(h.ClientID, "\uFFFD")
		}
	}
	return b[n:], nil
}

// skipTags passes over a tag section. Unknown tags, and tags out of order, are fine.
func skipTags(b []byte) ([]byte, error) {
	count, b, ok := uvarint(b)
	for ; ok && count > 0; count-- { // ends by count or by running out of bytes
		var size uint32
		if _, b, ok = uvarint(b); !ok {
			break
		}
		if size, b, ok = uvarint(b); !ok || uint64(size) > uint64(len(b)) {
			return nil, errBadTags
		}
		b = b[size:]
	}
	if !ok {
		return nil, errBadTags
	}
	return b, nil
}

// uvarint reads Kafka's unsigned varint: 7 bits a byte, low ones first, at most 5 bytes.
func uvarint(b []byte) (v uint32, rest []byte, ok bool) {
	for i := range min(len(b), 5) {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

// AppendResponseHeader appends the correlation id and, for flexible versions other than
// ApiVersions', the empty tag section. ApiVersions is the exception because the client
// does not know yet what the broker speaks.
func AppendResponseHeader(dst []byte, key, version int16, correlationID int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if flexible(key, version) && key != keyApiVersions {
		dst = append(dst, 0)
	}
	return dst
}

// parseResponseHeader is the client's side of AppendResponseHeader; body aliases b.
func parseResponseHeader(b []byte, key, version int16) (correlationID int32, body []byte, err error) {
	if len(b) < 4 {
		return 0, nil, errors.New("response header ends early")
	}
	correlationID, b = int32(binary.BigEndian.Uint32(b)), b[4:]
	if flexible(key, version) && key != keyApiVersions {
		b, err = skipTags(b)
	}
	return correlationID, b, err
}

// AppendRequest appends a whole request frame, size included.
func AppendRequest(dst []byte, req kmsg.Request, correlationID int32, clientID string) []byte {
	start := len(dst)
	key, version := req.Key(), req.GetVersion()
	dst = append(dst, 0, 0, 0, 0) // the size, when it is known
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if key != keyControlledShutdown || version != 0 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
		dst = append(dst, clientID...)
	}
	if req.IsFlexible() {
		dst = append(dst, 0) // no tags
	}
	dst = req.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}
