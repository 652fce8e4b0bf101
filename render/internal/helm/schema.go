// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
)

// schemaURL is the name under which a chart's schema is known while it is compiled. It is
// never loaded from anywhere.
const schemaURL = "chart:///values.schema.json"

// checkSchemas checks the values of a chart and its subcharts against their schemas. The
// library's own check would follow references in a schema into the host's file system and
// the network; here they are refused.
func checkSchemas(c *chart.Chart, values map[string]any) error {
	if c.Schema != nil {
		if err := checkSchema(c.Schema, values); err != nil {
			return fmt.Errorf("the values of chart %s do not fit its values.schema.json: %w", c.ChartPath(), err)
		}
	}
	for _, child := range c.Dependencies() {
		given, ok := values[child.Name()]
		if !ok || given == nil {
			continue
		}
		inner, ok := given.(map[string]any)
		if !ok {
			return fmt.Errorf("the values of chart %s are not a map", child.ChartPath())
		}
		if err := checkSchemas(child, inner); err != nil {
			return err
		}
	}
	return nil
}

func checkSchema(schema []byte, values map[string]any) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuseReferences{})
	if err := compiler.AddResource(schemaURL, parsed); err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	if err := compiled.Validate(values); err != nil {
		_, details, _ := strings.Cut(err.Error(), "\n")
		return errors.New(strings.TrimSpace(details))
	}
	return nil
}

type refuseReferences struct{}

// Load refuses whatever it is asked for.
func (refuseReferences) Load(url string) (any, error) {
	return nil, fmt.Errorf("references to outside of the schema are not followed: %s", url)
}
