// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

/// Contracts through which tokens are called in practice, reduced to their calls: no signatures are
/// checked, so they are for tests alone.

/// The outer function of a Safe wallet; operation 1 is a delegate call.
contract Wallet {
    function execTransaction(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256,
        uint256,
        uint256,
        address,
        address payable,
        bytes calldata
    ) external payable returns (bool success) {
        (success, ) = operation == 1 ? to.delegatecall(data) : to.call{value: value}(data);
        require(success, "call failed");
    }
}

/// Packed calls: operation (1 byte), to (20), value (32), length of data (32), data.
contract MultiSend {
    function multiSend(bytes memory transactions) external payable {
        uint256 at = 0;
        while (at < transactions.length) {
            address to;
            uint256 value;
            uint256 length;
            bytes memory data;
            assembly {
                let start := add(add(transactions, 0x20), at)
                to := shr(96, mload(add(start, 1)))
                value := mload(add(start, 21))
                length := mload(add(start, 53))
            }
            data = new bytes(length);
            for (uint256 i = 0; i < length; i++) data[i] = transactions[at + 85 + i];
            (bool success, ) = to.call{value: value}(data);
            require(success, "call failed");
            at += 85 + length;
        }
    }
}

/// An ERC-2771 forwarder: the sender's address is appended to the call.
contract Forwarder {
    struct Request {
        address from;
        address to;
        uint256 value;
        uint256 gas;
        uint48 deadline;
        bytes data;
        bytes signature;
    }

    function execute(Request calldata request) external payable {
        (bool success, ) = request.to.call{value: request.value, gas: request.gas}(
            abi.encodePacked(request.data, request.from)
        );
        require(success, "call failed");
    }
}

contract Multicall {
    struct Call {
        address target;
        bool allowFailure;
        bytes callData;
    }

    function aggregate3(Call[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, ) = calls[i].target.call(calls[i].callData);
            require(success || calls[i].allowFailure, "call failed");
        }
    }
}

/// Calls the token from within: nothing in the transaction's input says what it does.
contract Opaque {
    function run(address token, bytes calldata data) external {
        (bool success, ) = token.call(data);
        require(success, "call failed");
    }
}
