// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kumodo.io/convoy/kubectl-convoy/internal/bundle"
)

// newDump is `kubectl convoy dump`.
func newDump(env *environment) *cobra.Command {
	dumper := &dumper{environment: env}
	var file string
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Collect what others need to help you, without secrets",
		Long: "Write an archive (.tar.gz) with convoy's objects of all namespaces, their events, what 'check' and 'shards' say,\n" +
			"and from the namespace of convoy Deployments, Pods, Leases, events and the logs of convoy's Pods. What you may\n" +
			"not read in all namespaces is read in the one of --namespace; what could not be had is noted in errors.txt.\n\n" +
			"Secrets and ConfigMaps are not in it. Of all else, also messages and logs, these are masked:\n" +
			"- what has the name of a secret, as password, token, apiKey, kubeconfig, or with a word that ends with pass,\n" +
			"  auth or key (DB_PASS, storageKey), in values of charts, patches, manifests of hooks, annotations,\n" +
			"  environments, arguments (--password=x, --password x) and texts (name=value, name: value)\n" +
			"- data and stringData of manifests with kind: Secret, all of a template of one that is no YAML, and what patches\n" +
			"  write to data, stringData or an environment\n" +
			"- what tools noted in annotations of what was applied, as last-applied-configuration\n" +
			"- users and passwords in URLs and before addresses, parameters of URLs like sig, key and token, Bearer and Basic\n" +
			"  credentials, JSON web tokens, private keys in PEM and in base64\n" +
			"Names that only refer to something, as secretName, names of objects and hosts, and secrets under names that do\n" +
			"not look like one stay: have a look before you hand it to others. docs/binaries/kubectl-convoy.md has the lists.",
		Example:           "  kubectl convoy dump\n  kubectl convoy dump -f convoy.tar.gz --since 10m\n  kubectl convoy dump --logs=false -f -",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dumper.since < 0 {
				return errors.New("--since must not be negative")
			}
			if err := dumper.dial(env); err != nil {
				return err
			}
			now := time.Now()
			if file == "" {
				file = "convoy-dump-" + now.UTC().Format("20060102-150405") + ".tar.gz"
			}
			return dumper.dump(cmd.Context(), file, now)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "File to write; - is the standard output. By default one with the time in its name, in this folder.")
	cmd.Flags().BoolVar(&dumper.logs, "logs", true, "Collect the logs of convoy's Pods.")
	cmd.Flags().DurationVar(&dumper.since, "since", time.Hour, "How far back logs go; 0 is all of them.")
	_ = cmd.MarkFlagFilename("filename", "tar.gz")
	dumper.addFlags(cmd, env)
	return cmd
}

// dumper collects what is handed to others.
type dumper struct {
	*environment
	installation
	logs  bool
	since time.Duration

	bundle *bundle.Writer
	// objects are how many of convoy's were found.
	objects int
}

// dump writes the bundle. A file that could not be written to its end is removed.
func (d *dumper) dump(ctx context.Context, file string, now time.Time) (err error) {
	if err := d.reach(ctx); err != nil {
		return err
	}
	out := io.Writer(d.Out)
	if file != "-" {
		// Nobody else is to read it, and nothing is written over.
		created, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer func() {
			if closed := created.Close(); err == nil {
				err = closed
			}
			if err != nil {
				_ = os.Remove(file)
			}
		}()
		out = created
	}
	d.bundle = bundle.New(out, "convoy-dump", now)
	if err := errors.Join(d.collect(ctx), d.bundle.Close()); err != nil {
		return err
	}
	for _, failure := range d.bundle.Failures {
		fmt.Fprintf(d.ErrOut, "Warning: not collected: %s\n", failure)
	}
	if file == "-" {
		return nil
	}
	where, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "%s written: %d of convoy's objects, without Secrets. Have a look at it before you hand it to others.\n", where, d.objects)
	return nil
}
