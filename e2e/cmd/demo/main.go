// SPDX-License-Identifier: Apache-2.0

// Demo stands up two clusters with convoy on the loopback and shows, step by step, what
// convoy does: deliver, update, correct drift, prune, roll back, and say what is wrong.
// It leaves the environment running; "demo env" tells a shell of it, "demo down" ends it. It exits with 1 when any step
// is not seen.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/environment"
)

// pointer is the file in the tree's root that names the folder of the running demo.
const pointer = ".demo"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	file := filepath.Join(root, pointer)
	switch {
	case len(args) == 1 && args[0] == "up":
		return up(ctx, file)
	case len(args) == 1 && args[0] == "env":
		return printEnv(os.Stdout, file)
	case len(args) == 1 && args[0] == "down":
		return down(ctx, file)
	}
	return errors.New("usage: demo up | demo env | demo down")
}

// up starts the environment and shows the steps.
func up(ctx context.Context, file string) error {
	if old, err := os.ReadFile(file); err == nil {
		return fmt.Errorf("a demo runs in %s: end it with 'make demo-down'", strings.TrimSpace(string(old)))
	}
	dir, err := os.MkdirTemp("", "convoy-demo-")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(dir+"\n"), 0o600); err != nil {
		return err
	}
	stage, err := prepare(ctx, dir)
	if err != nil {
		// What was started must not stay behind when there is nothing to look at.
		return errors.Join(err, down(context.WithoutCancel(ctx), file))
	}
	settings := shellSettings(stage.host()+string(os.PathListSeparator)+stage.edge(), stage.env.Bin, stage.env.Kubectl)
	if err := os.WriteFile(filepath.Join(dir, settingsFile), []byte(settings), 0o600); err != nil {
		return errors.Join(err, down(context.WithoutCancel(ctx), file))
	}
	failed := stage.play(ctx)
	fmt.Printf("\nThe environment is running in %s. Look around, in any shell, with:\n\n%s\nEnd it with: make -C %s demo-down\n",
		dir, lookAround(settings), quoted(stage.env.Root))
	return failed
}

// settingsFile is the file in the folder of the demo that has what "demo env" prints.
const settingsFile = "env.sh"

// shellSettings gives commands that let a shell find the clusters and the programs. A kubectl that
// the shell has goes before the demonstration's own; in bin is the plugin that was just built.
func shellSettings(kubeconfig, bin, kubectl string) string {
	return fmt.Sprintf("export KUBECONFIG=%s\nexport PATH=%s:\"$PATH\":%s\n", quoted(kubeconfig), quoted(bin), quoted(filepath.Dir(kubectl)))
}

// lookAround gives commands for a shell that knows of nothing.
func lookAround(settings string) string {
	var out strings.Builder
	for line := range strings.Lines(settings + "kubectl -n demo get releases,clusters,gitrepositories\nkubectl convoy -n demo status production\n") {
		out.WriteString("  " + line)
	}
	return out.String()
}

// printEnv writes the settings of the environment that file points to.
func printEnv(w io.Writer, file string) error {
	dir, err := folder(file)
	if err != nil {
		return err
	}
	settings, err := os.ReadFile(filepath.Join(dir, settingsFile))
	if err != nil {
		return fmt.Errorf("the demo in %s is not up yet: %w", dir, err)
	}
	_, err = w.Write(settings)
	return err
}

// folder is where the environment is that file points to.
func folder(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("no demo is running")
	}
	return strings.TrimSpace(string(data)), err
}

// quoted gives a text as one word of a shell.
func quoted(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// plain are the characters that mean themselves to a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,=:"

// down ends the environment that file points to.
func down(ctx context.Context, file string) error {
	dir, err := folder(file)
	if err != nil {
		return err
	}
	downErr := environment.Down(ctx, dir, os.Stdout)
	if err := os.Remove(file); err != nil {
		return err
	}
	if downErr != nil {
		return downErr
	}
	return os.RemoveAll(dir)
}
