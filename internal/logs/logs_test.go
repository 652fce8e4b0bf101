// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestBodiesAreNotLogged(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string // in the error
	}{
		"nothing":                    {},
		"the highest":                {args: []string{"--v=7", "--vmodule=request=7,round_trippers=7"}},
		"too high":                   {args: []string{"--v=8"}, want: []string{"--v: 8"}},
		"too high in a file":         {args: []string{"--vmodule=request=8"}, want: []string{"--vmodule: request=8"}},
		"in one of several, and --v": {args: []string{"--v=9", "--vmodule=a=1,req*=10"}, want: []string{"--v: 8", "--vmodule: req*=10"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			logging := logsapi.NewLoggingConfiguration()
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			logsapi.AddFlags(logging, flags)
			g.Expect(flags.Parse(c.args)).To(Succeed())
			errs := Check(logging)
			g.Expect(errs).To(HaveLen(len(c.want)))
			for _, text := range c.want {
				g.Expect(errors.Join(errs...)).To(MatchError(ContainSubstring(text)))
			}
		})
	}
}
