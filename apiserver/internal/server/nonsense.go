// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// retainKeys is the directive of a strategic merge patch that lists the fields to keep.
const retainKeys = "$retainKeys"

// refuser refuses requests over which the library would stumble: it panics, and the client
// gets no answer that it could read.
type refuser struct {
	serializer runtime.NegotiatedSerializer
	maxBytes   int64 // of a body
}

func newRefuser(c *genericapiserver.Config) refuser {
	return refuser{serializer: c.Serializer, maxBytes: c.MaxRequestBodyBytes}
}

// withText refuses paths that are no text: they end as labels of metrics, which must be.
func (r refuser) withText(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !utf8.ValidString(req.URL.Path) {
			r.refuse(w, req, "the path of the request is not valid UTF-8")
			return
		}
		next.ServeHTTP(w, req)
	})
}

// withRetainKeys refuses strategic merge patches that would keep fields without a name.
func (r refuser) withRetainKeys(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mediaType, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
		if req.Method != http.MethodPatch || mediaType != string(types.StrategicMergePatchType) || req.Body == nil {
			next.ServeHTTP(w, req)
			return
		}
		body, err := r.read(req.Body)
		if err != nil {
			responsewriters.ErrorNegotiated(err, r.serializer, schema.GroupVersion{}, w, req)
			return
		}
		var patch any
		// What is no JSON gets its answer from the library.
		if json.Unmarshal(body, &patch) == nil && !namesKeys(patch) {
			r.refuse(w, req, retainKeys+" in a strategic merge patch must be a list of field names")
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, req)
	})
}

// read reads a body within its limit.
func (r refuser) read(body io.ReadCloser) ([]byte, error) {
	limit := r.maxBytes
	if limit > 0 {
		body = http.MaxBytesReader(nil, body, limit)
	}
	data, err := io.ReadAll(body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the patch has more than %d bytes", limit))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("reading the patch: " + err.Error())
	}
	return data, nil
}

func (r refuser) refuse(w http.ResponseWriter, req *http.Request, message string) {
	responsewriters.ErrorNegotiated(apierrors.NewBadRequest(message), r.serializer, schema.GroupVersion{}, w, req)
}

// namesKeys tells whether every $retainKeys at or below a value of JSON is a list of strings.
func namesKeys(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, item := range v {
			if name == retainKeys && !isListOfStrings(item) || !namesKeys(item) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !namesKeys(item) {
				return false
			}
		}
	}
	return true
}

func isListOfStrings(value any) bool {
	list, ok := value.([]any)
	for _, item := range list {
		if _, isString := item.(string); !isString {
			return false
		}
	}
	return ok
}
