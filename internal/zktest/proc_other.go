//go:build unix && !linux

package zktest

import "syscall"

// diesWithParent: this system has no such thing; a killed test binary leaves its server.
func diesWithParent() *syscall.SysProcAttr { return nil }
