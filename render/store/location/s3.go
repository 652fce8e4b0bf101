// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_s3

package location

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob/s3blob"

	"kumodo.io/convoy/render/store"
)

func openS3(ctx context.Context, u *url.URL, _ bool) (store.Place, error) {
	return openS3With(ctx, u)
}

// openS3With opens a bucket, with more settings of the client.
func openS3With(ctx context.Context, u *url.URL, more ...func(*s3.Options)) (store.Place, error) {
	if err := named(u); err != nil {
		return store.Place{}, err
	}
	parameters := u.Query()
	settings, err := s3Settings(parameters)
	if err != nil {
		return store.Place{}, err
	}
	var load []func(*config.LoadOptions) error
	if region := parameters.Get("region"); region != "" {
		load = append(load, config.WithRegion(region))
	}
	loaded, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return store.Place{}, err
	}
	if loaded.Region == "" && parameters.Get("endpoint") != "" {
		loaded.Region = "us-east-1" // what servers that have no regions expect
	}
	if loaded.Region == "" {
		return store.Place{}, errors.New("the bucket's region is not known: add ?region=… to the URL, or set AWS_REGION")
	}
	bucket, err := s3blob.OpenBucket(ctx, s3.NewFromConfig(loaded, append(settings, more...)...), u.Host, &s3blob.Options{
		EncryptionType:             types.ServerSideEncryption(parameters.Get("ssetype")),
		KMSEncryptionID:            parameters.Get("kmskeyid"),
		RequestChecksumCalculation: loaded.RequestChecksumCalculation,
	})
	return store.Place{Bucket: bucket, Explain: explainS3}, err
}

// s3Settings gives the settings of the client that the URL asks for.
func s3Settings(parameters url.Values) ([]func(*s3.Options), error) {
	settings := []func(*s3.Options){func(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true }}
	if endpoint := parameters.Get("endpoint"); endpoint != "" {
		parsed, err := url.Parse(endpoint)
		if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" {
			return nil, errors.New("the parameter endpoint must be https:// or http:// and a host, without credentials and query")
		}
		settings = append(settings, func(o *s3.Options) { o.BaseEndpoint = aws.String(endpoint) })
	}
	if given := parameters.Get("use_path_style"); given != "" {
		style, err := strconv.ParseBool(given)
		if err != nil {
			return nil, errors.New("the parameter use_path_style must be true or false")
		}
		settings = append(settings, func(o *s3.Options) { o.UsePathStyle = style })
	}
	known := types.ServerSideEncryption("").Values()
	if given := parameters.Get("ssetype"); given != "" && !contains(known, given) {
		return nil, fmt.Errorf("the parameter ssetype must be one of %v", known)
	}
	return settings, nil
}

func contains(known []types.ServerSideEncryption, given string) bool {
	for _, one := range known {
		if string(one) == given {
			return true
		}
	}
	return false
}

// explainS3 gives the code of S3, and its name of the request.
func explainS3(err error) (code, request string) {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		request = answer.ServiceRequestID()
	}
	var known smithy.APIError
	switch {
	case errors.As(err, &known):
		return known.ErrorCode(), request
	case answer != nil && answer.HTTPStatusCode() != 0:
		return strconv.Itoa(answer.HTTPStatusCode()), request
	}
	return "", ""
}
