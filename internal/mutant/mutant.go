// Package mutant switches single rules off, so that tests can show that they would notice.
//
// What comes in: the build tag mutant, and the name of a rule in KZ_MUTANT. What goes out:
// a function per rule, asked at the one place where the rule stands; true means that the
// rule is off. Nobody runs it. The one rule: without the build tag every function is the
// constant false, and the compiler removes the question together with what hangs on it.
//
// A room that asks names the rule in one line beside the code that keeps it.
package mutant

// Names are the rules, in the order of their functions.
var Names = []string{"truncate-at-hw", "hw-is-leo", "any-epoch", "unconditional-state-write", "leader-not-in-isr", "ack-before-isr"}
