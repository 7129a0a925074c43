//go:build race

package clustertest

// raceFlag builds the brokers with the race detector too when the test has it.
var raceFlag = []string{"-race"}

// RaceDetector says that this binary has it.
const RaceDetector = true
