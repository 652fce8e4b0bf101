// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
)

// Debug are the parts that serve profiles at --debug-socket-path, as kube-apiserver does at its
// own: under /debug/pprof/, to whoever may open the socket. There are none without a path.
func (o *Options) Debug() []Runnable {
	if o.DebugSocketPath == "" {
		return nil
	}
	return []Runnable{{Name: "debug socket", Run: func(ctx context.Context) error { return serveProfiles(ctx, o.DebugSocketPath) }}}
}

func serveProfiles(ctx context.Context, path string) error {
	if err := removeSocket(path); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return serve(ctx, listener, mux)
}

// removeSocket removes what a process that was killed left behind; nothing but a socket.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is no socket", path)
	}
	return os.Remove(path)
}
