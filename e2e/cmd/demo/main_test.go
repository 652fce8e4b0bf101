// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestLookAroundInABareShell runs the commands that the demonstration ends with, with
// programs in place of the real ones that tell how they were called.
func TestLookAroundInABareShell(t *testing.T) {
	write := func(folder, name, says string) string {
		path := filepath.Join(folder, name)
		g := NewWithT(t)
		g.Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte("#!/bin/sh\nprintf '%s %s %s\\n' '"+says+"' \"$KUBECONFIG\" \"$*\"\n"), 0o700)).To(Succeed())
		return path
	}
	for _, test := range []struct {
		name, own string // own is a folder of the shell's PATH with a kubectl; "" for none
		want      string
	}{
		{"no kubectl", "", "built"},
		{"a kubectl of its own", "own", "own"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "it's a $HOME")
			built := write(filepath.Join(dir, "assets"), "kubectl", "built")
			plugin := write(filepath.Join(dir, "bin"), "kubectl-convoy", "plugin")
			path := filepath.Join(dir, "empty")
			if test.own != "" {
				path = filepath.Dir(write(filepath.Join(dir, test.own), "kubectl", "own"))
			}
			commands := lookAround(shellSettings("/a b/config", filepath.Dir(plugin), built))
			shell := exec.Command("/bin/sh", "-euc", commands+"kubectl-convoy status\n")
			shell.Env = []string{"PATH=" + path}
			out, err := shell.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(out))
			g.Expect(string(out)).To(Equal(test.want + " /a b/config -n demo get releases,clusters,gitrepositories\n" +
				test.want + " /a b/config convoy -n demo status production\n" +
				"plugin /a b/config status\n"))
		})
	}
}

func TestSettingsOfARunningDemo(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	file := filepath.Join(dir, pointer)
	var out bytes.Buffer
	g.Expect(printEnv(&out, file)).To(MatchError("no demo is running"))
	g.Expect(os.WriteFile(file, []byte(dir+"\n"), 0o600)).To(Succeed())
	g.Expect(printEnv(&out, file)).To(MatchError(ContainSubstring("is not up yet")))
	g.Expect(os.WriteFile(filepath.Join(dir, settingsFile), []byte("export A=b\n"), 0o600)).To(Succeed())
	g.Expect(printEnv(&out, file)).To(Succeed())
	g.Expect(out.String()).To(Equal("export A=b\n"))
}
