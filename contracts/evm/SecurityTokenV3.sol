// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {TransferGroups} from "./Register.sol";
import {ForceTransfers, SecurityToken} from "./SecurityToken.sol";

/// Generation 3: whatever passes through the contract is logged as a pair, in and out.
contract SecurityTokenV3 is ForceTransfers, TransferGroups {
    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 supply
    ) SecurityToken(name_, symbol_, decimals_, supply) {}

    /// Nothing is logged when the group stays the same.
    function setTransferGroup(address addr, uint256 groupId, bool) public only(WALLETS_ADMIN) {
        if (getTransferGroup[addr] != groupId) moveToGroup(addr, groupId);
    }

    function setAddressPermissions(address addr, uint256 groupId, bool status) external {
        setTransferGroup(addr, groupId, false);
        freeze(addr, status);
    }

    function logsApprovalOfTransferFrom() internal pure override returns (bool) {
        return true;
    }

    function logsForceFirst() internal pure override returns (bool) {
        return true;
    }

    function logSend(address from, address to, uint256 unlockedPart, uint256 simplePart) internal virtual override {
        if (unlockedPart > 0) {
            emit Transfer(from, address(this), unlockedPart);
            emit Transfer(address(this), to, unlockedPart);
        }
        if (simplePart > 0 || unlockedPart == 0) emit Transfer(from, to, simplePart);
        welcome(to);
    }

    function logFund(address from, address to, uint256 unlockedPart, uint256 simplePart) internal virtual override {
        if (unlockedPart > 0) {
            emit Transfer(from, address(this), unlockedPart);
            emit Transfer(address(this), address(this), unlockedPart);
        }
        if (simplePart > 0 || unlockedPart == 0) emit Transfer(from, address(this), simplePart);
        emit Transfer(address(this), to, unlockedPart + simplePart);
        welcome(to);
    }

    function logClaim(address from, address to, uint256 amount) internal virtual override {
        emit Transfer(from, address(this), amount);
        emit Transfer(address(this), to, amount);
    }

    function logCancel(address target, address reclaimTo, uint256 canceled, uint256 paid) internal override {
        emit Transfer(target, address(this), canceled + paid);
        emit Transfer(address(this), reclaimTo, canceled);
        emit Transfer(address(this), target, paid);
    }
}

/// An early build of generation 3: holders as later, and movements out of and into grants without the
/// second leg, as in generation 2. How it logs a cancel is not known; nothing relies on it.
contract SecurityTokenV3Early is SecurityTokenV3 {
    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 supply
    ) SecurityTokenV3(name_, symbol_, decimals_, supply) {}

    function logSend(address from, address to, uint256 unlockedPart, uint256 simplePart) internal override {
        if (unlockedPart > 0) emit Transfer(address(this), to, unlockedPart);
        if (simplePart > 0 || unlockedPart == 0) emit Transfer(from, to, simplePart);
        welcome(to);
    }

    function logFund(address from, address to, uint256 unlockedPart, uint256 simplePart) internal override {
        if (unlockedPart > 0) emit Transfer(address(this), address(this), unlockedPart);
        if (simplePart > 0 || unlockedPart == 0) emit Transfer(from, address(this), simplePart);
        welcome(to);
    }

    function logClaim(address, address to, uint256 amount) internal override {
        emit Transfer(address(this), to, amount);
    }
}
