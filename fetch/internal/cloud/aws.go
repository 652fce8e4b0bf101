// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_ecr

package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecrpublic"
	"github.com/aws/smithy-go"

	"kumodo.io/convoy/fetch/internal/fault"
)

// publicRegion is the only one in which the public registry hands out tokens.
const publicRegion = "us-east-1"

// logIntoAWS asks for the token of a registry: in the region that is part of its name.
func logIntoAWS(ctx context.Context, host string, _ *http.Client) (Credential, time.Time, error) {
	ask, region, fips := askPrivate, publicRegion, aws.FIPSEndpointStateUnset
	if parts := awsPrivate.FindStringSubmatch(host); parts != nil {
		region = parts[2]
		if parts[1] != "" {
			fips = aws.FIPSEndpointStateEnabled
		}
	} else {
		ask = askPublic
	}
	options := []func(*config.LoadOptions) error{config.WithRegion(region)}
	if fips != aws.FIPSEndpointStateUnset {
		options = append(options, config.WithUseFIPSEndpoint(fips))
	}
	environment, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return Credential{}, time.Time{}, explainAWS(ctx, err)
	}
	packed, until, err := ask(ctx, environment)
	if err != nil {
		return Credential{}, time.Time{}, explainAWS(ctx, err)
	}
	unpacked, err := base64.StdEncoding.DecodeString(aws.ToString(packed))
	user, password, ok := strings.Cut(string(unpacked), ":")
	if err != nil || !ok {
		return Credential{}, time.Time{}, fault.New(fault.ErrUnreachable, "the token that AWS gave for the registry is malformed")
	}
	return Credential{Username: user, Password: password}, aws.ToTime(until), nil
}

func askPrivate(ctx context.Context, environment aws.Config) (packed *string, until *time.Time, err error) {
	answer, err := ecr.NewFromConfig(environment).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil || len(answer.AuthorizationData) == 0 {
		return nil, nil, err
	}
	return answer.AuthorizationData[0].AuthorizationToken, answer.AuthorizationData[0].ExpiresAt, nil
}

func askPublic(ctx context.Context, environment aws.Config) (packed *string, until *time.Time, err error) {
	answer, err := ecrpublic.NewFromConfig(environment).GetAuthorizationToken(ctx, &ecrpublic.GetAuthorizationTokenInput{})
	if err != nil || answer.AuthorizationData == nil {
		return nil, nil, err
	}
	return answer.AuthorizationData.AuthorizationToken, answer.AuthorizationData.ExpiresAt, nil
}

// explainAWS gives the code of AWS. Its words name accounts and each request anew.
func explainAWS(ctx context.Context, err error) error {
	var known smithy.APIError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known) && known.ErrorFault() != smithy.FaultServer:
		return refused("AWS", known.ErrorCode(), "allow it ecr:GetAuthorizationToken, or for public.ecr.aws ecr-public:GetAuthorizationToken and sts:GetServiceBearerToken")
	case errors.As(err, &known):
		return noIdentity("AWS", known.ErrorCode())
	}
	return noIdentity("AWS", err.Error())
}
