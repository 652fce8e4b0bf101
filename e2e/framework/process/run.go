// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
)

// tailBytes of a log are shown when its process ended by itself.
const tailBytes = 4 << 10

// run is one life of a process.
type run struct {
	pid      int
	pidFile  string
	done     chan struct{} // closed after state is set
	state    error         // what Wait returned
	expected atomic.Bool   // somebody asked for the end
}

func launch(c Command) (*run, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of %s: %w", c.Name, err)
	}
	log, err := os.OpenFile(logFile(c), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", c.Name, err)
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(c.Detached)

	r := &run{pidFile: pidFile(c), done: make(chan struct{})}
	started := make(chan error, 1)
	go r.live(cmd, log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	r.pid = cmd.Process.Pid
	if err := writePIDFile(r.pidFile, r.pid); err != nil {
		_ = r.kill()
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	return r, nil
}

// live starts the process and stays until it ended. Linux sends the parent-death
// signal when the thread that started the child ends, not the program; so this
// goroutine keeps the thread for itself as long as the child lives.
func (r *run) live(cmd *exec.Cmd, log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	r.state = cmd.Wait()
	close(r.done)
}

func (r *run) running() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (r *run) signal(signal syscall.Signal) error { return syscall.Kill(r.pid, signal) }

func (r *run) kill() error {
	r.expected.Store(true)
	if err := r.signal(syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	<-r.done
	r.forget()
	return nil
}

// forget removes the pid file: nothing is left to stop.
func (r *run) forget() { _ = os.Remove(r.pidFile) }

func (r *run) unexpected(c Command) *ExitError {
	if r.running() || r.expected.Load() {
		return nil
	}
	reason := "exit status 0"
	if r.state != nil {
		reason = r.state.Error()
	}
	return &ExitError{Name: c.Name, Reason: reason, Tail: tail(logFile(c))}
}

func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	offset := max(0, info.Size()-tailBytes)
	buffer := make([]byte, info.Size()-offset)
	n, _ := file.ReadAt(buffer, offset)
	return string(buffer[:n])
}
