// SPDX-License-Identifier: Apache-2.0

// Command chart looks after charts/convoy: "chart generate" makes the schema of its values and
// the table of its README from values.yaml, "chart render" prints its objects, those of hooks
// included, as helm template does, and "chart package" makes the archive of a release. Its tests
// hold the chart against config/.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

const usage = `usage: chart generate [-root folder]
       chart render [-root folder] [-namespace name] [-values file]
       chart package [-root folder] -version X.Y.Z [-registry name] -to folder`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	root := flags.String("root", "../..", "folder of the tree")
	namespace := flags.String("namespace", defaultNamespace, "namespace of the release, for render")
	file := flags.String("values", "", "file with values, for render")
	version := flags.String("version", "", "version of the release, for package")
	registry := flags.String("registry", "", "where the images are by default, for package")
	to := flags.String("to", "", "folder of the archive, for package")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	folder := filepath.Join(*root, "charts", "convoy")
	switch args[0] {
	case "generate":
		return generate(folder)
	case "render":
		return printObjects(folder, *namespace, *file)
	case "package":
		archive, err := pack(folder, *to, *version, *registry)
		if err != nil {
			return err
		}
		fmt.Println(archive)
		return nil
	default:
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
}

func printObjects(folder, namespace, file string) error {
	values := map[string]any{}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(data, &values); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	one, err := load(folder)
	if err != nil {
		return err
	}
	made, err := render(one, namespace, values)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(made.objects)
	return err
}

// generate writes what is made of values.yaml.
func generate(folder string) error {
	made, err := generated(folder)
	if err != nil {
		return err
	}
	for name, content := range made {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generated returns the files of the chart that are made of its values.yaml, by name.
func generated(folder string) (map[string][]byte, error) {
	data, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		return nil, err
	}
	values, err := readValues(data)
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	schema, err := schemaFile(values)
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		return nil, err
	}
	table, err := replaceTable(string(readme), values)
	if err != nil {
		return nil, fmt.Errorf("README.md: %w", err)
	}
	return map[string][]byte{"values.schema.json": schema, "README.md": []byte(table)}, nil
}
