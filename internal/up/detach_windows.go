package up

import "syscall"

// ownGroup keeps a terminal's Ctrl-C from a child: the parent decides who stops when.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
