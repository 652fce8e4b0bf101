// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/build"
)

const page = "docs/getting-started.md"

var _ = Describe("Getting started", func() {
	It("works word for word", func(ctx SpecContext) {
		root, err := build.Root()
		Expect(err).NotTo(HaveOccurred())
		text, err := os.ReadFile(filepath.Join(root, page))
		Expect(err).NotTo(HaveOccurred())
		all, err := steps(page, string(text))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(all)).To(BeNumerically(">", 10))

		running := filepath.Join(root, ".demo")
		Expect(running).NotTo(BeAnExistingFile(), "a demo runs already: end it with 'make demo-down'")
		DeferCleanup(func(ctx SpecContext) {
			if _, err := os.Stat(running); err == nil {
				down := exec.CommandContext(ctx, filepath.Join(root, "bin", "convoy-demo"), "down")
				down.Dir, down.Stdout, down.Stderr = root, GinkgoWriter, GinkgoWriter
				Expect(down.Run()).To(Succeed())
			}
		}, NodeTimeout(time.Minute))
		output, err := run(ctx, root, script(all))
		Expect(err).NotTo(HaveOccurred(), "%s: what begins in line %s fails:\n%s", page, lastLine(output), output)
		shown := strings.Split(output, "\n"+mark)[1:]
		Expect(shown).To(HaveLen(len(all)))
		for i, step := range all {
			Expect(missing(shown[i], step.shows)).To(BeEmpty(), "%s:%d: the output is another one:\n%s", page, step.Line, shown[i])
		}
	}, NodeTimeout(15*time.Minute))
})

// run executes a script as somebody would who has just got the tree, and gives what it wrote.
func run(ctx context.Context, root, script string) (string, error) {
	var output bytes.Buffer
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir = root
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "KUBECONFIG=") {
			shell.Env = append(shell.Env, variable)
		}
	}
	shell.Env = append(shell.Env, "TMPDIR="+GinkgoT().TempDir())
	shell.Stdout = io.MultiWriter(&output, GinkgoWriter)
	shell.Stderr = shell.Stdout
	// What it has started ends with it.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGTERM) }
	shell.WaitDelay = 10 * time.Second
	err := shell.Run()
	return output.String(), err
}

// lastLine gives the number of the line at which the last step begins that wrote something.
func lastLine(output string) string {
	parts := strings.Split(output, mark)
	number, _, _ := strings.Cut(parts[len(parts)-1], "\n")
	return number
}
