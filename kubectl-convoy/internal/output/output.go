// SPDX-License-Identifier: Apache-2.0

// Package output prints the answers of convoy's API for people, or whole as JSON or YAML.
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// AddFlag adds -o/--output to cmd.
func AddFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", "", "Output format: json or yaml; text for people when empty.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

// Print writes object to w in the format given by -o, or through text when it is empty.
// An unknown format is an error.
func Print(w io.Writer, format string, object runtime.Object, text func(io.Writer) error) error {
	switch format {
	case "":
		return text(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(object)
	case "yaml":
		data, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	return fmt.Errorf("--output: unknown format %q, must be json or yaml", format)
}
