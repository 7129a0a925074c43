//go:build !race

package clustertest

var raceFlag []string

// RaceDetector says that this binary has it.
const RaceDetector = false
