// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestFaults(t *testing.T) {
	own, all := pflag.NewFlagSet("own", pflag.ContinueOnError), pflag.NewFlagSet("all", pflag.ContinueOnError)
	own.Int("shards", 1, "")
	own.String("observer-url", "", "")
	all.String("etcd-servers", "", "")
	good := "| flag | default | meaning |\n|---|---|---|\n| `--shards` | `1` | a |\n| `--observer-url` | none | b |\n\nSee `--etcd-servers` and `--etcd-…`.\n"
	for _, test := range []struct {
		name, given string
		want        []string
	}{
		{"all is said", good, nil},
		{"a flag is missing", "| `--shards` | `1` | a |\n", []string{"no row for --observer-url"}},
		{"another default", "| `--shards` | `2` | a |\n| `--observer-url` | none | b |\n", []string{`the default of --shards is "1", not ` + "`2`"}},
		{"a flag that is no more", good + "`--old` and `--older-…`", []string{"there is no flag --old", "there is no flag --older-"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(faults(test.given, own, all)).To(Equal(test.want))
		})
	}
}
