// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"kumodo.io/convoy/e2e/framework/poll"
)

const (
	defaultReadyTimeout = time.Minute
	defaultGrace        = 10 * time.Second
	readyInterval       = 50 * time.Millisecond
)

// Command describes a process. Name, Path and Dir are required.
type Command struct {
	Name string   // names <Dir>/<Name>.log and <Dir>/<Name>.pid
	Path string   // the binary
	Args []string // without the binary's own name
	Env  []string // added to the environment of this program
	Dir  string   // folder of the log and the pid file, and the working directory

	// Ready returns nil once the process serves; nil means that a started
	// process is ready. ReadyTimeout is one minute by default.
	Ready        func(context.Context) error
	ReadyTimeout time.Duration

	// Grace is how long Stop waits between SIGTERM and SIGKILL, 10 s by default.
	Grace time.Duration

	// Detached lets the process live on when this program ends.
	Detached bool
}

// Process is a started command. It is safe for concurrent use.
type Process struct {
	command Command

	mu      sync.Mutex
	current *run
}

// ExitError tells that a process ended though nobody asked it to.
type ExitError struct {
	Name   string
	Reason string // "exit status 1", "signal: killed"
	Tail   string // the last lines of its log
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s ended unexpectedly (%s); the end of its log:\n%s", e.Name, e.Reason, e.Tail)
}

// Start starts the command and waits until it is ready. If it ends before that,
// the error is an *ExitError; if it is not ready in time, it is killed.
func Start(ctx context.Context, command Command) (*Process, error) {
	if command.ReadyTimeout == 0 {
		command.ReadyTimeout = defaultReadyTimeout
	}
	if command.Grace == 0 {
		command.Grace = defaultGrace
	}
	p := &Process{command: command}
	if err := p.Restart(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Restart starts the same command again after Stop, Kill or an unexpected end,
// and waits until it is ready. It appends to the log. A process that still runs
// is an error.
func (p *Process) Restart(ctx context.Context) error {
	p.mu.Lock()
	if p.current != nil && p.current.running() {
		p.mu.Unlock()
		return fmt.Errorf("start %s: it still runs", p.command.Name)
	}
	r, err := launch(p.command)
	if err != nil {
		p.mu.Unlock()
		return err
	}
	p.current = r
	p.mu.Unlock()
	if err := p.awaitReady(ctx, r); err != nil {
		if exit := r.unexpected(p.command); exit != nil {
			return exit
		}
		r.kill()
		return fmt.Errorf("%s is not ready (log: %s): %w", p.command.Name, p.LogFile(), err)
	}
	return nil
}

func (p *Process) awaitReady(ctx context.Context, r *run) error {
	if p.command.Ready == nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, p.command.ReadyTimeout)
	defer cancel()
	go func() {
		select {
		case <-r.done: // no use in asking a dead process
			cancel()
		case <-ctx.Done():
		}
	}()
	return poll.Until(ctx, readyInterval, p.command.Ready)
}

// Stop sends SIGTERM and waits; after the grace period, or when ctx ends, it
// sends SIGKILL. A process that does not run is no error.
func (p *Process) Stop(ctx context.Context) error {
	r := p.run()
	if r == nil || !r.running() {
		return nil
	}
	r.expected.Store(true)
	if err := r.signal(syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop %s: %w", p.command.Name, err)
	}
	grace := time.NewTimer(p.command.Grace)
	defer grace.Stop()
	select {
	case <-r.done:
		r.forget()
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	return p.Kill()
}

// Kill sends SIGKILL and waits until the process is gone.
func (p *Process) Kill() error {
	r := p.run()
	if r == nil || !r.running() {
		return nil
	}
	if err := r.kill(); err != nil {
		return fmt.Errorf("kill %s: %w", p.command.Name, err)
	}
	return nil
}

// Running tells whether the process lives.
func (p *Process) Running() bool {
	r := p.run()
	return r != nil && r.running()
}

// Done returns a channel that is closed when the present run ends.
func (p *Process) Done() <-chan struct{} { return p.run().done }

// Err returns an *ExitError when the present run ended by itself, else nil.
func (p *Process) Err() error {
	if exit := p.run().unexpected(p.command); exit != nil {
		return exit
	}
	return nil
}

// Name returns the command's name.
func (p *Process) Name() string { return p.command.Name }

// PID returns the process id of the present run.
func (p *Process) PID() int { return p.run().pid }

// LogFile returns the path of the log, which holds standard output and error of
// all runs.
func (p *Process) LogFile() string { return logFile(p.command) }

func (p *Process) run() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

func logFile(c Command) string { return filepath.Join(c.Dir, c.Name+".log") }
func pidFile(c Command) string { return filepath.Join(c.Dir, c.Name+".pid") }
