package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"kz/broker/config"
	"kz/client"
	"kz/client/admin"
	"kz/internal/kafkaerr"
)

// Some of Kafka's tools print an error as Java prints an exception: its class, a colon
// and the text. Scripts look for these words, so kz prints them too.

// irregular are the classes whose name is not the code's name in camel case.
var irregular = map[kafkaerr.Code]string{
	kafkaerr.UnknownServerError:          "UnknownServerException",
	kafkaerr.NonEmptyGroup:               "GroupNotEmptyException",
	kafkaerr.RequestTimedOut:             "TimeoutException",
	kafkaerr.MessageTooLarge:             "RecordTooLargeException",
	kafkaerr.RecordListTooLarge:          "RecordBatchTooLargeException",
	kafkaerr.UnsupportedForMessageFormat: "UnsupportedForMessageFormatException",
}

// javaClass names the exception that stands for a code.
func javaClass(c kafkaerr.Code) string {
	name := irregular[c]
	if name == "" {
		for _, word := range strings.Split(strings.TrimSuffix(c.Name(), "_EXCEPTION"), "_") {
			name += word[:1] + strings.ToLower(word[1:])
		}
		name += "Exception"
	}
	return "org.apache.kafka.common.errors." + name
}

// javaText is an error as an exception's toString: of an error without one of Kafka's
// codes it is the text alone.
func javaText(err error) string {
	var refused *admin.Error
	switch {
	case errors.As(err, &refused):
		return javaClass(refused.Code) + ": " + refused.Text
	case errors.Is(err, admin.ErrNoBrokers):
		return "org.apache.kafka.common.KafkaException: " + err.Error()
	}
	switch c, m := kafkaerr.CodeOf(err), kafkaerr.MessageOf(err); {
	case c == kafkaerr.UnknownServerError:
		return err.Error()
	case m != "":
		return javaClass(c) + ": " + m
	default:
		return javaClass(c) + ": " + err.Error()
	}
}

// javaTextAbout is javaText of a failure to read or write a topic.
func javaTextAbout(topic string, err error) string {
	if c := kafkaerr.CodeOf(err); c == kafkaerr.InvalidTopicException {
		return javaClass(c) + ": Invalid topics: [" + topic + "]"
	}
	return javaText(err)
}

// warnLog is a line of a tool's log on stderr.
func warnLog(e *env, tool, format string, args ...any) {
	fmt.Fprintf(e.stderr, "[%s] WARN %s (kz %s)\n", time.Now().Format("2006-01-02 15:04:05,000"), fmt.Sprintf(format, args...), tool)
}

var hostPort = regexp.MustCompile(`^\[?[0-9a-zA-Z\-%._:]*\]?:[0-9]+$`)

// validServers ends the tool when one of the addresses has no port.
// Mirrors ToolsUtils.validatePortOrDie.
func (o *options) validServers(e *env, list string) error {
	for _, s := range strings.Split(list, ",") {
		if !hostPort.MatchString(strings.TrimSpace(s)) {
			return o.die(e, "Please provide valid host:port like host1:9091,host2:9092\n ")
		}
	}
	return nil
}

// readProperties reads the properties file that a flag names, or nothing.
func (o *options) readProperties(flag string) (map[string]string, error) {
	if !o.has(flag) {
		return map[string]string{}, nil
	}
	file, err := o.str(flag)
	if err == nil {
		var props map[string]string
		if props, err = config.ReadProperties(file); err == nil {
			return props, nil
		}
	}
	return nil, exitf(exitFailed, "kz %s: --%s: %v", o.tool, flag, err)
}

// openAdmin makes an admin client; timeout, when not 0, bounds each of its calls.
func openAdmin(e *env, tool string, props map[string]string, timeout time.Duration) (*admin.Admin, error) {
	p := client.NewProperties(props)
	cfg := p.Common()
	if err := p.Err(); err != nil {
		return nil, exitf(exitFailed, "kz %s: %v", tool, err)
	}
	warnUnknown(e, p.Unknown())
	if timeout > 0 {
		cfg.APITimeout = timeout
	}
	cfg.Network, cfg.Unreachable = e.network, warnUnreachable(e)
	return admin.New(cfg), nil
}

func warnUnknown(e *env, keys []string) {
	for _, k := range keys {
		fmt.Fprintf(e.stderr, "WARN The configuration '%s' was supplied but isn't a known config.\n", k)
	}
}
