// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestArguments(t *testing.T) {
	for _, test := range []struct {
		name string
		line []string
		want []string
	}{
		{"the command", []string{"/bin/kubectl-convoy", "status", "web"}, []string{"status", "web"}},
		{"nothing", []string{"kubectl-convoy"}, []string{}},
		{"a completion", []string{"/bin/kubectl_complete-convoy", "status", "w"}, []string{"__complete", "status", "w"}},
		{"a completion on Windows", []string{"kubectl_complete-convoy.exe", ""}, []string{"__complete", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(arguments(test.line)).To(Equal(test.want))
		})
	}
}
