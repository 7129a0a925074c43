// Package witness asks several brokers of one cluster the same questions and compares what they answer,
// as somebody would who wants to tell them apart from outside.
//
//	what comes in   the brokers' addresses, who leads what, a topic on all of them
//	what goes out   per sort of question, how many answers of two brokers were the same, and which not
//	who runs it     the caller's goroutine; one connection to each broker
//
// The one rule: a broker is asked only what its role does not decide. A leader is not asked what followers
// must refuse, and the controller not what only it may do, so that every difference is the broker's own.
//
// Reading order: questions.go (what is asked, in which versions), answers.go (how an answer becomes lines
// that can be compared), witness.go (the asking and the counting).
package witness
