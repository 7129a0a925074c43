// Command kz is classic Apache Kafka 2.8 on ZooKeeper, rebuilt in Go to be read,
// run and broken. Every command is in internal/cli.
package main

import (
	"os"

	"kz/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
