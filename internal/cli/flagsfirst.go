package cli

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// flagsFirst moves a command's flags before its arguments, because the library reads flags
// up to the first argument only, and people type "kz node kill 2 --at leader.append". What
// follows "--" is left alone, and so is a command that reads its flags itself.
func flagsFirst(commands []*ucli.Command, args []string) []string {
	if len(args) == 0 {
		return args
	}
	i := slices.IndexFunc(commands, func(c *ucli.Command) bool { return c.HasName(args[0]) })
	if i < 0 {
		return args
	}
	cmd, rest := commands[i], args[1:]
	switch {
	case cmd.SkipFlagParsing:
		return args
	case len(cmd.Subcommands) > 0:
		return append([]string{args[0]}, flagsFirst(cmd.Subcommands, rest)...)
	}
	flags, words := []string{args[0]}, []string{}
	for len(rest) > 0 {
		word := rest[0]
		rest = rest[1:]
		switch {
		case word == "--":
			return append(append(append(flags, "--"), words...), rest...)
		case len(word) < 2 || word[0] != '-':
			words = append(words, word)
		case takesValue(cmd, word) && len(rest) > 0:
			flags = append(flags, word, rest[0])
			rest = rest[1:]
		default:
			flags = append(flags, word)
		}
	}
	return append(flags, words...)
}

// takesValue says whether the word after a flag is its value.
func takesValue(cmd *ucli.Command, word string) bool {
	name := strings.TrimLeft(word, "-")
	for _, f := range cmd.Flags {
		if v, ok := f.(ucli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return v.TakesValue()
		}
	}
	return false // unknown, or with its value behind "="
}

// flagsOnly is the action of a command without arguments. One that is given is refused, not
// ignored: "kz down 2" must not stop everything.
func flagsOnly(action ucli.ActionFunc) ucli.ActionFunc {
	return func(c *ucli.Context) error {
		if c.NArg() > 0 {
			return exitf(exitUsage, "%s: %s: takes no arguments but its flags.", c.Command.HelpName, c.Args().First())
		}
		return action(c)
	}
}
