// Package lint holds the rules of the repository that the compiler does not know, as
// tests. Each file is one rule and says why it exists:
//
//	imports_test.go     which room may see which; where foreign libraries stop
//	size_test.go        one idea per file, one thing per function
//	docs_test.go        links and paths in the documents lead somewhere
//	goroutines_test.go  every room that starts goroutines has its rows
//	text_test.go        no paths of somebody's machine; package comments; no sleeping tests
//
// What comes in is the working tree as it is; nothing runs outside `go test`. The one
// rule about rules: an exception stands in the list beside the rule, with its reason,
// or the code changes.
package lint
