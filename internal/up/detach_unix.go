//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package up

import "syscall"

// ownGroup keeps a terminal's Ctrl-C from a child: the parent decides who stops when, or
// brokers and ZooKeeper would end at the same moment and the brokers wait for it in vain.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownSession also frees a process from the terminal, whose end it must not notice.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
