//go:build !linux

package zktest

import "syscall"

// DiesWithParent: this system has no such thing; a killed test binary leaves its children.
func DiesWithParent() *syscall.SysProcAttr { return nil }
