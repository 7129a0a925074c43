// Package answers asks three kz brokers what three Apache Kafka 2.8.2 brokers were asked, and
// compares the answers.
//
// What comes in: testdata/*.jsonl.gz, one line per exchange with real Kafka (case, step, which
// broker, API, version, request, answer), and the cases as code in the *_cases_test.go files,
// which prepare what a line cannot say. What goes out: for each exchange one of five words.
//
//	equal      kz answers what Kafka answered, field by field; only what must differ is a
//	           placeholder (ports, times, ids, names of the run)
//	allowed    it differs in a way that allowed_test.go lists, with the reason, and that
//	           docs/divergence.md tells users
//	refused    kz does not serve that API or version: it must not advertise it, and must close
//	           the connection as Kafka does with what it does not know
//	after      an earlier step of the case was refused and would have written: only offsets and
//	           records may differ
//	unreached  the case needs something refused to go on
//
// Anything else fails the test. An entry of the list that no answer needs fails it too, and so
// does an API that has become served while its cases are not written here. Everything is test
// code and runs in the test's goroutines, against brokers of this process over TCP. The words are
// entered in the account of internal/fidelity: allowed as differs, the last three as refused.
package answers
