// SPDX-License-Identifier: Apache-2.0

package defaulting

import (
	"bytes"
	"encoding/json"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// canonicalize gives free-form JSON one form: keys sorted, no white space. The same values
// in another spelling are then the same spec, and do not raise the generation. Numbers are
// kept digit by digit. What is not JSON is left for validation to report.
func canonicalize(extension *runtime.RawExtension) {
	if extension == nil || len(extension.Raw) == 0 {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(extension.Raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return
	}
	if _, err := decoder.Token(); err != io.EOF {
		return
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return
	}
	extension.Raw = canonical
}
