// Package cli is the command line: one file per subcommand.
//
//	what comes in   the arguments, stdin, the environment variable NO_COLOR
//	what goes out   data on stdout, everything else on stderr, an exit code
//	who runs it     main's goroutine; a signal ends the context every command gets
//
// There are two families, and the difference is the one rule to know here:
//
//	kz's own commands (broker, zk, demo ...)  flags by urfave/cli; exit 0 ok, 1 failed, 2 usage,
//	                                          3 unknown or inconclusive, 4 no cluster, 130 interrupted
//	Kafka's tools (topics, console-* ...)     flags, lines and exit codes as Kafka 2.8 prints them,
//	                                          which means 1 for a usage error too; plus -o json
//
// Reading order: cli.go (the list of commands), options.go (Kafka's way to read
// flags), then any command.
package cli
