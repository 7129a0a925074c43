// Package fidelity keeps the account of what kz has been held against real Kafka in, and what came of it.
//
//	what comes in   from tests that compare kz with what Apache Kafka 2.8.2 was seen to do: one row for
//	                each thing compared, with a verdict: same, differs (and which row of docs/divergence.md
//	                says why), refused (and which system kz does not have yet)
//	what goes out   measured/*.jsonl, the rows as they are committed; and docs/fidelity.md, which is made
//	                of them and of nothing else
//	who runs it     the comparing tests, in their own run: a Sheet collects the rows of one test and, when
//	                the test has passed, holds them against the committed ones
//
// So nothing is run twice, and the document cannot drift: a test that measures something else than what
// is committed fails, and so does this package's own test when the document is not what the rows make.
// scripts/fidelity.sh measures anew and writes both.
//
// The one rule: a row says what was compared and not how it went. Times, retries and the order of things
// that chance decides have no place in it, or the account would differ from run to run.
package fidelity
