package config

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The codecs a topic may ask for, in the order Kafka lists them.
var compressionTypes = []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}

// checkTogether checks what keys demand of each other. Mirrors KafkaConfig.validateValues.
func (p *parser) checkTogether() {
	v := p.values
	id, maxID := v.int32("broker.id"), v.int32("reserved.broker.max.id")
	generated := v.bool("broker.id.generation.enable")
	switch {
	case generated && (id < -1 || id > maxID):
		p.fault("broker.id", "%d, allowed: -1 to reserved.broker.max.id (%d)", id, maxID)
	case !generated && id < 0:
		p.fault("broker.id", "%d, allowed: at least 0 when broker.id.generation.enable is false", id)
	}
	if ms := rollMs(v); ms < 1 {
		p.fault("log.roll.ms", "%d, allowed: at least 1", ms)
	}
	if ms := rollJitterMs(v); ms < 0 {
		p.fault("log.roll.jitter.ms", "%d, allowed: at least 0", ms)
	}
	if ms := retentionMs(v); ms < 1 && ms != -1 {
		p.fault("log.retention.ms", "%d, allowed: -1 (unlimited) or at least 1", ms)
	}
	if threads := int64(v.int("log.cleaner.threads")); threads > 0 && v.long("log.cleaner.dedupe.buffer.size")/threads <= 1<<20 {
		p.fault("log.cleaner.dedupe.buffer.size", "allowed: more than 1048576 for each of the %d log.cleaner.threads", threads)
	}
	wait := v.int("replica.fetch.wait.max.ms")
	if timeout := v.int("replica.socket.timeout.ms"); wait > timeout {
		p.fault("replica.socket.timeout.ms", "%d, allowed: at least replica.fetch.wait.max.ms (%d)", timeout, wait)
	}
	if lag := v.long("replica.lag.time.max.ms"); int64(wait) > lag {
		p.fault("replica.fetch.wait.max.ms", "%d, allowed: at most replica.lag.time.max.ms (%d)", wait, lag)
	}
	if acks, rf := v.short("offsets.commit.required.acks"), v.short("offsets.topic.replication.factor"); acks < -1 || acks > rf {
		p.fault("offsets.commit.required.acks", "%d, allowed: -1 to offsets.topic.replication.factor (%d)", acks, rf)
	}
	if t := v.str("compression.type"); !slices.Contains(compressionTypes, t) {
		p.fault("compression.type", "%q, allowed: %s", t, strings.Join(compressionTypes, ", "))
	}
	p.checkFormat()
	p.checkNetwork()
}

// oldFormat matches the versions whose records are of format 0 or 1.
var oldFormat = regexp.MustCompile(`^0\.(8|9|10)(\.|-|$)`)

// servedFormat matches the versions from 0.11 to 2.6: their records are of format 2.
var servedFormat = regexp.MustCompile(`^(0\.11|1\.[01]|2\.[0-6])(\.|-|$)`)

func (p *parser) checkFormat() {
	s, set := p.set["log.message.format.version"]
	if s = strings.TrimSpace(s); set && isVersion(s) && !servedFormat.MatchString(s) {
		p.fault("log.message.format.version", "%s, allowed: 0.11.0 to 2.6, whose records are of format 2", s)
	}
}

func (p *parser) checkNetwork() {
	v := p.values
	request := int64(v.int32("socket.request.max.bytes"))
	if queued := v.long("queued.max.request.bytes"); queued > 0 && queued < request {
		p.fault("queued.max.request.bytes", "%d, allowed: 0 and below (no limit) or at least socket.request.max.bytes (%d)", queued, request)
	}
	if v.int("max.connections.per.ip") == 0 && v.str("max.connections.per.ip.overrides") == "" {
		p.fault("max.connections.per.ip", "0, allowed only beside max.connections.per.ip.overrides")
	}
	idle, delay := v.long("connections.max.idle.ms"), int64(v.int("connection.failed.authentication.delay.ms"))
	if idle >= 0 && delay >= idle {
		p.fault("connection.failed.authentication.delay.ms", "%d, allowed: less than connections.max.idle.ms (%d)", delay, idle)
	}
}

// perIPOverrides reads host:count,host:count.
func (p *parser) perIPOverrides() map[string]int {
	const key = "max.connections.per.ip.overrides"
	out := map[string]int{}
	for _, pair := range splitList(p.values.str(key)) {
		i := strings.LastIndexByte(pair, ':')
		if i <= 0 {
			p.fault(key, "%q, allowed: host:count,host:count", pair)
			continue
		}
		host := strings.Trim(pair[:i], "[] ")
		n, err := strconv.Atoi(strings.TrimSpace(pair[i+1:]))
		if err != nil || n < 0 || n > 1<<31-1 || net.ParseIP(host) == nil && !hostName.MatchString(host) {
			p.fault(key, "%q, allowed: host:count,host:count with counts from 0 to 2147483647", pair)
			continue
		}
		out[host] = n
	}
	return out
}

var hostName = regexp.MustCompile(`^[0-9a-zA-Z\-%._]*$`)
