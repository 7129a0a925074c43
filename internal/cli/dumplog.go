package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"kz/internal/record"
)

const stringDecoder = "kafka.serializer.StringDecoder"

var dumpLogOptions = []option{
	{name: "files", arg: "file,file,...", help: "files to read; the suffix decides how: .log .index .timeindex .snapshot .txnindex"},
	{name: "print-data-log", help: "show records with key and value"},
	{name: "deep-iteration", help: "show records inside batches"},
	{name: "skip-record-metadata", help: "with --print-data-log: key and value only"},
	{name: "verify-index-only", help: "compare the index with the log, print nothing else"},
	{name: "index-sanity-check", help: "check index files only, as a broker does at start"},
	{name: "max-message-size", arg: "bytes", def: "5242880", help: "largest batch that an index entry is compared with"},
	{name: "key-decoder-class", arg: "class", optional: true, def: stringDecoder, help: "only the default is served"},
	{name: "value-decoder-class", arg: "class", optional: true, def: stringDecoder, help: "only the default is served"},
	{name: "offsets-decoder", help: "show the records of __consumer_offsets as what they say"},
	{name: "transaction-log-decoder", help: "refused: kz does not decode __transaction_state yet"},
	{name: "cluster-metadata-decoder", help: "refused: kz has no KRaft"},
}

// dump is one run of dump-log: what was asked, where lines go, and what is reported
// at the end. Mirrors kafka.tools.DumpLogSegments.
type dump struct {
	out    *bufio.Writer
	errs   io.Writer
	asJSON bool

	deep, contents, skipMetadata bool
	content                      func(record.Record) (key, payload *string, err error) // how to show them
	sanityOnly, verifyOnly       bool
	maxMessageSize               int

	mismatches     fileFindings // index offset, log offset
	timeMismatches fileFindings // index timestamp, log timestamp
	outOfOrder     fileFindings // index timestamp, the one before
	notFound       fileFindings // index offset, log offset
	gaps           fileFindings // offset, the next
}

// fileFindings are pairs of numbers by file, in order of the files.
type fileFindings struct {
	files []string
	pairs map[string][][2]int64
}

func (f *fileFindings) add(file string, a, b int64) {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	if f.pairs == nil {
		f.pairs = map[string][][2]int64{}
	}
	if f.pairs[file] == nil {
		f.files = append(f.files, file)
	}
	f.pairs[file] = append(f.pairs[file], [2]int64{a, b})
}

// runDumpLog is kafka-dump-log.sh.
func runDumpLog(_ context.Context, e *env, args []string) error {
	o, err := parseOptions("dump-log", dumpLogOptions, args)
	if err != nil {
		return err
	}
	if err := o.helpOrVersion(e, args, "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly corrupt log segment."); err != nil {
		return err
	}
	if err := o.require(e, "files"); err != nil {
		return err
	}
	if err := refuseDecoders(o); err != nil {
		return err
	}
	files, err := o.str("files")
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	d := &dump{out: bufio.NewWriterSize(e.stdout, 64<<10), errs: e.stderr, skipMetadata: o.has("skip-record-metadata"), sanityOnly: o.has("index-sanity-check"), verifyOnly: o.has("verify-index-only")}
	d.content = asText
	if o.has("offsets-decoder") {
		d.content = asStored
	}
	d.contents = o.has("print-data-log") || o.has("offsets-decoder") || o.has("key-decoder-class") || o.has("value-decoder-class")
	d.deep = o.has("deep-iteration") || d.contents
	size, err := o.number("max-message-size", 32)
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	d.maxMessageSize = int(size)
	if d.asJSON, err = o.json(); err != nil {
		return err
	}
	err = d.files(strings.Split(files, ","))
	if ferr := d.out.Flush(); err == nil {
		err = ferr
	}
	if err != nil {
		return exitf(exitFailed, "kz dump-log: %v", err)
	}
	d.report()
	return nil
}

func refuseDecoders(o *options) error {
	for _, name := range []string{"transaction-log-decoder", "cluster-metadata-decoder"} {
		if o.has(name) {
			return exitf(exitFailed, "kz dump-log: --%s is not served yet. Without it the records are shown as text.", name)
		}
	}
	for _, name := range []string{"key-decoder-class", "value-decoder-class"} {
		class, err := o.str(name)
		if err != nil {
			return exitf(exitFailed, "%v", err)
		}
		if class != stringDecoder {
			return exitf(exitFailed, "kz dump-log: --%s %s: Java classes cannot be loaded; only %s is built in", name, class, stringDecoder)
		}
	}
	return nil
}

// files dumps each; the first that cannot be read to its end stops the tool, as with Kafka.
func (d *dump) files(names []string) error {
	for _, name := range names {
		name = filepath.Clean(name)
		if !d.asJSON {
			fmt.Fprintf(d.out, "Dumping %s\n", name)
		}
		if err := d.file(name); err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) file(name string) error {
	base := filepath.Base(name)
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 {
		return fmt.Errorf("%s: the name has no suffix that says what it is (.log .index .timeindex .snapshot .txnindex)", name)
	}
	show := map[string]func(string, int64) error{
		".log": d.log, ".index": d.index, ".timeindex": d.timeIndex, ".snapshot": d.snapshot, ".txnindex": d.txnIndex,
	}[base[dot:]]
	if show == nil {
		d.out.Flush()
		fmt.Fprintf(d.errs, "Ignoring unknown file %s\n", name)
		return nil
	}
	start, _, _ := strings.Cut(base, ".")
	offset, err := strconv.ParseInt(start, 10, 64)
	if err != nil && base[dot:] != ".snapshot" {
		return fmt.Errorf("%s: the name does not begin with an offset: For input string: %q", name, start)
	}
	return show(name, offset)
}

// report prints the findings on stderr, in Kafka's order and words.
func (d *dump) report() {
	d.mismatches.print(d.errs, "Mismatches in :%s\n", "  Index offset: %d, log offset: %d\n", true)
	d.timeMismatches.print(d.errs, "Found timestamp mismatch in :%s\n", "  Index timestamp: %d, log timestamp: %d\n", false)
	d.outOfOrder.print(d.errs, "Found out of order timestamp in :%s\n", "  Index timestamp: %d, Previously indexed timestamp: %d\n", false)
	d.notFound.print(d.errs, "The following indexed offsets are not found in the log.\n", "Indexed offset: %d, found log offset: %d\n", false)
	d.gaps.print(d.errs, "Non-consecutive offsets in %s\n", "  %d is followed by %d\n", true)
}

// print shows the findings of every file; some of Kafka's lists are newest first.
func (f *fileFindings) print(w io.Writer, title, line string, newestFirst bool) {
	for _, file := range f.files {
		if strings.Contains(title, "%s") {
			fmt.Fprintf(w, title, file)
		} else {
			fmt.Fprint(w, title)
		}
		pairs := f.pairs[file]
		for i := range pairs {
			p := pairs[i]
			if newestFirst {
				p = pairs[len(pairs)-1-i]
			}
			fmt.Fprintf(w, line, p[0], p[1])
		}
	}
}

// object prints one JSON line; file names the file it comes from.
func (d *dump) object(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = d.out.Write(append(b, '\n'))
	return err
}
