//go:build !race

package clustertest

var raceFlag []string
